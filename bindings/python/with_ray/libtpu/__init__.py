"""Stands for the driver of TPUs on hosts that have none, where Ray asks for places of chips."""
