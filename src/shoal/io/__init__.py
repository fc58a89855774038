"""Input and output: file formats, engines, and atomic publishing."""
