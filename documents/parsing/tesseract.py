"""Tesseract reads a line of text in the languages that RapidOCR's weights lack.

Its library is called within the confined process that reads files; no program is started."""

import ctypes
import os
from ctypes import c_char_p, c_int, c_void_p
from ctypes.util import find_library
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PIL.Image import Image

# ISO 639-1 and the name of the weights, which is that of Debian's package, too.
_PAIRS: Final = """
    af:afr am:amh ar:ara as:asm az:aze be:bel bg:bul bn:ben bo:bod br:bre bs:bos ca:cat co:cos
    cs:ces cy:cym da:dan de:deu dv:div dz:dzo el:ell en:eng eo:epo es:spa et:est eu:eus fa:fas
    fi:fin fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg gu:guj he:heb hi:hin hr:hrv ht:hat hu:hun
    hy:hye id:ind is:isl it:ita iu:iku ja:jpn jv:jav ka:kat kk:kaz km:khm kn:kan ko:kor ku:kmr
    ky:kir la:lat lb:ltz lo:lao lt:lit lv:lav mi:mri mk:mkd ml:mal mn:mon mr:mar ms:msa mt:mlt
    my:mya ne:nep nl:nld no:nor oc:oci or:ori pa:pan pl:pol ps:pus pt:por qu:que ro:ron ru:rus
    sa:san sd:snd si:sin sk:slk sl:slv sq:sqi sr:srp sr-Latn:srp_latn su:sun sv:swe sw:swa ta:tam
    te:tel tg:tgk th:tha ti:tir tl:fil to:ton tr:tur tt:tat ug:uig uk:ukr ur:urd uz:uzb vi:vie
    yi:yid yo:yor zh:chi_sim
"""
WEIGHTS: Final = dict(pair.split(":") for pair in _PAIRS.split())
_LIBRARY: Final = "libtesseract.so.5"
# Modes in which Tesseract takes a picture for one line, which it looks for or takes as it is. The
# first reads better, but takes some lines with long descenders for several.
ONE_LINE: Final = 7
RAW_LINE: Final = 13
_DOTS_PER_INCH: Final = 300  # of a line that is drawn for it; without a number it writes a warning
# From <tesseract/capi.h>: what each function returns, and its arguments.
_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "TessBaseAPICreate": (c_void_p,),
    "TessBaseAPIInit3": (c_int, c_void_p, c_char_p, c_char_p),
    "TessBaseAPISetPageSegMode": (None, c_void_p, c_int),
    "TessBaseAPISetImage": (None, c_void_p, c_char_p, c_int, c_int, c_int, c_int),
    "TessBaseAPISetSourceResolution": (None, c_void_p, c_int),
    "TessBaseAPIGetUTF8Text": (c_void_p, c_void_p),
    "TessBaseAPIMeanTextConf": (c_int, c_void_p),
    "TessDeleteText": (None, c_void_p),
}


def find_weights_folder() -> Path:
    return Path(os.environ.get("TESSDATA_PREFIX") or "/usr/share/tesseract-ocr/5/tessdata")


def list_missing_packages(languages: "Iterable[str]") -> list[str]:
    """What Debian calls that which must be installed to read these languages."""
    folder, names = find_weights_folder(), [WEIGHTS[language] for language in languages]
    missing = [name for name in names if not (folder / f"{name}.traineddata").is_file()]
    library = [] if _has_library() else ["libtesseract5"]
    return library + [f"tesseract-ocr-{name.replace('_', '-')}" for name in missing]


@cache
def _has_library() -> bool:
    return find_library("tesseract") == _LIBRARY


class LineReader:
    """Reads lines in some languages; to load their weights takes a tenth of a second."""

    def __init__(self, languages: "Iterable[str]") -> None:
        os.environ["OMP_THREAD_LIMIT"] = "1"  # several threads are slower for a single line
        self._library = ctypes.CDLL(_LIBRARY)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._api = self._library.TessBaseAPICreate()
        names = "+".join(WEIGHTS[language] for language in languages)
        folder = os.fsencode(find_weights_folder())
        if self._library.TessBaseAPIInit3(self._api, folder, names.encode()):
            raise RuntimeError(f"Tesseract cannot load its weights for {names}.")

    def read(self, picture: "Image", mode: int = ONE_LINE) -> tuple[str, float]:
        """The text of a line, and how sure Tesseract is of it, from 0 to 1."""
        self._library.TessBaseAPISetPageSegMode(self._api, mode)
        picture = picture.convert("L")
        width, height = picture.size
        self._library.TessBaseAPISetImage(self._api, picture.tobytes(), width, height, 1, width)
        self._library.TessBaseAPISetSourceResolution(self._api, _DOTS_PER_INCH)
        address = self._library.TessBaseAPIGetUTF8Text(self._api)
        try:
            text = ctypes.string_at(address).decode() if address else ""
        finally:
            self._library.TessDeleteText(address)
        text = text.replace("\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}")  # as Greek is written
        return text, self._library.TessBaseAPIMeanTextConf(self._api) / 100
