"""Documents that come by themselves, from the sources that specs name.

In the code a source is a *feed*, because ``documents.models.Source`` is a passage of a document;
people only see ``sources:`` in specs, the page *Sources* and the command ``sources``.

    protocol.py   what a type of source implements: list everything, fetch one
    types/        one module for each type
    spec.py       the section of specs
    listing.py    compares a listing with the rows; decides what may be removed
    fetching.py   brings what is due, and removes what is gone
    services.py   which feed is worked on, and what people decide about it
"""
