"""That checks are right: kill matrix, hunt for survivors, transcripts."""
