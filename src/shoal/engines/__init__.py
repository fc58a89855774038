"""Where tables are held and rows are moved: DuckDB on one machine."""
