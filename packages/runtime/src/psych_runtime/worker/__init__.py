"""The Worker: finds Runs, holds their leases, drives them."""
