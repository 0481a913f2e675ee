"""Models that read reviews: data, rules to beat, fine-tuning, small trials."""
