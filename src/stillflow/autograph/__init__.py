"""AutoGraph: Python's control flow over tensors as control flow of the graph.

A function is converted when it is called: `source` finds its syntax tree, `functions` rewrites it
(`jumps`, `statements`, `expressions`), `conversion` compiles the result, and `calls` decides what
is converted at all. Converted code keeps the file and the lines of the program, and calls
`operators`, which look at run time whether they are given tensors.
"""
