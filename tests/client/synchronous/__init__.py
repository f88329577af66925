# Made of tests/client/asynchronous/__init__.py by `make client`: edit that.
