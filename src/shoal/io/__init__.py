"""Input and output: file formats, engines that hold tables, and atomic publishing."""
