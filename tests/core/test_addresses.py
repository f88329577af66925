import pytest

from core.addresses import is_public, look_up


class TestIsPublic:
    @pytest.mark.parametrize(
        "address",
        ["93.184.215.14", "2606:4700::1111", "::ffff:93.184.215.14", "64:ff9b::93.184.215.14"],
    )
    def test_is_true_of_the_internet(self, address):
        assert is_public(address)

    @pytest.mark.parametrize(
        "address",
        ["127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
         "192.88.99.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
         "ff02::1", "2001:db8::1", "3fff::1", "192.0.0.192", "168.63.129.16"],
    )  # fmt: skip
    def test_is_false_of_a_network_of_its_own(self, address):
        assert not is_public(address)

    @pytest.mark.parametrize(
        ("address", "way"),
        [
            ("::ffff:10.0.0.1", "mapped"),
            ("::10.0.0.1", "compatible"),
            ("::ffff:0:10.0.0.1", "translated"),
            ("64:ff9b::10.0.0.1", "NAT64"),
            ("64:ff9b::169.254.169.254", "NAT64"),
            ("64:ff9b:1::10.0.0.1", "NAT64 of a network"),
            ("2002:a00:1::1", "6to4"),
            ("2002:7f00:1::", "6to4"),
            ("2001:0:a00:1::", "Teredo"),
            ("2001:470::5efe:10.0.0.1", "ISATAP"),
            ("2001:470::200:5efe:127.0.0.1", "ISATAP"),
            ("fec0::1", "site-local"),
        ],
    )
    def test_is_false_of_each_way_to_write_a_private_address(self, address, way):
        assert not is_public(address)


class TestLookUp:
    def test_gives_the_addresses(self):
        assert look_up("127.0.0.1").result(60) == ["127.0.0.1"]

    @pytest.mark.parametrize("host", ["a" * 70 + ".example", "a..example", "a\0.example"])
    def test_gives_an_error_for_what_is_no_name(self, host):
        with pytest.raises((OSError, ValueError)):
            look_up(host).result(60)
