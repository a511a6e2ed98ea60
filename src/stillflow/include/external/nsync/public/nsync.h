// Nothing: old commands name this folder, and some setup scripts ask whether it exists.
