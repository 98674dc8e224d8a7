"""`faultline explain`: why a job or an attempt ended, what a node went through, where a number comes from.

It reads the published file and judges nothing itself. The report has the same sentences about failures and nodes.
"""
