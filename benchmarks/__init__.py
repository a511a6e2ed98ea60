"""The same programs under Stillflow and its peers, timed side by side."""
