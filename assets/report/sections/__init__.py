"""One builder per section of a cluster's chapter: frames in, blocks out; SQL counted, these only word and arrange."""
