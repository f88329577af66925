# Made of client/src/strata_client/_async/__init__.py by `make client`: edit that.
