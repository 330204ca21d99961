"""Speech corpora: preparing one, making a synthetic one, and checking either against the format."""
