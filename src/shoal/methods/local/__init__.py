"""Local recoding: groups found by cuts, exchanges and hidden cells."""
