"""Which of a view's renderers is selected."""

from unittest import mock

import pytest
from django.http import Http404
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import JSONRenderer, StaticHTMLRenderer
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from core.http_formats import ContentNegotiation

ACCEPTED = [
    None,
    "*/*",
    "",
    "application/json",
    "application/json; indent=2",
    "text/html, */*;q=0.5",
    "text/*",
    "image/png",
]


def select(negotiation, accepted, address="/", suffix=None):
    headers = {} if accepted is None else {"Accept": accepted}
    request = Request(APIRequestFactory().post(address, headers=headers))
    renderers = [JSONRenderer(), StaticHTMLRenderer()]
    try:
        renderer, media_type = negotiation.select_renderer(request, renderers, suffix)
    except (NotAcceptable, Http404) as error:
        return type(error), str(error)
    return type(renderer), media_type


class TestContentNegotiation:
    @pytest.mark.parametrize("accepted", ACCEPTED)
    @pytest.mark.parametrize("address", ["/", "/?q=a", "/?format=html", "/?format=csv"])
    @pytest.mark.parametrize("suffix", [None, "html"])
    def test_selects_what_drf_selects(self, accepted, address, suffix):
        expected = select(DefaultContentNegotiation(), accepted, address, suffix)

        assert select(ContentNegotiation(), accepted, address, suffix) == expected

    @pytest.mark.parametrize("accepted", [None, "*/*"])
    def test_does_not_parse_the_header_of_clients_that_accept_anything(self, accepted):
        with mock.patch.object(DefaultContentNegotiation, "select_renderer") as select_renderer:
            assert select(ContentNegotiation(), accepted) == (JSONRenderer, "application/json")

        select_renderer.assert_not_called()

    def test_is_the_default_of_views(self):
        from rest_framework.views import APIView

        assert APIView.content_negotiation_class is ContentNegotiation
