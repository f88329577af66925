import io

import fastembed
import numpy as np
import pytest
from PIL import Image

from indexing.embedding import describe_model_availability, get_embedder
from indexing.exceptions import InvalidSpec, ModelUnavailable
from spaces.clip_model import read_image
from spaces.spec import ImageSpec
from tests.clip import DIMENSION, SPACE
from tests.pictures import draw

SPEC = ImageSpec(dimension=DIMENSION).embedding


@pytest.fixture
def hung(settings, tmp_path):
    """Write original files and return their names."""
    settings.STRATA_FILES_DIR = tmp_path

    def hang(*contents):
        names = [f"{number}/picture" for number in range(len(contents))]
        for name, content in zip(names, contents, strict=True):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_bytes(content)
        return names

    return hang


@pytest.fixture
def read(tmp_path):
    def read(content):
        (tmp_path / "picture").write_bytes(content)
        return read_image(tmp_path / "picture")

    return read


class TestEmbedding:
    def test_of_pictures_and_words_share_a_space(self, clip, hung):
        colours = ("red", "green", "blue")
        # "green" is half as bright as "lime", but its vector has the same direction.
        pictures = get_embedder(SPEC).embed_documents(hung(*map(draw, colours)))

        words = np.stack([get_embedder(SPEC).embed_query(colour) for colour in colours])

        assert list((words @ pictures.T).argmax(axis=1)) == [0, 1, 2]
        assert words[0] @ SPACE[0] == pytest.approx(1, abs=0.01)

    def test_is_a_unit_vector(self, clip, hung):
        embedder = get_embedder(SPEC)
        pictures = embedder.embed_documents(hung(draw("red"), draw("black"), draw("white")))

        assert pictures.dtype == np.float32
        assert np.linalg.norm(pictures, axis=1) == pytest.approx(1)
        assert np.linalg.norm(embedder.embed_query("red and blue")) == pytest.approx(1)

    def test_cuts_a_query_at_the_window_of_the_model(self, clip):
        assert get_embedder(SPEC).embed_query("red " * 1_000).shape == (DIMENSION,)


class TestLoadClip:
    def test_names_the_available_models(self):
        with pytest.raises(ModelUnavailable, match="acme/none-vision") as caught:
            get_embedder(ImageSpec(model="acme/none").embedding)

        assert caught.value.field == "images.model"
        assert "Qdrant/clip-ViT-B-32" in caught.value.allowed

    def test_explains_what_to_do_without_a_network(self, monkeypatch):
        def fail(self, *args, **kwargs):
            raise ValueError("Could not load model from any source.")

        monkeypatch.setattr(fastembed.ImageEmbedding, "__init__", fail)

        with pytest.raises(ModelUnavailable, match="could not be fetched") as caught:
            get_embedder(ImageSpec().embedding)

        assert "huggingface.co" in caught.value.fix

    def test_refuses_to_be_a_llama_index_embedding(self, clip):
        with pytest.raises(InvalidSpec):
            _ = get_embedder(SPEC).llama_index

    def test_is_described_as_missing_before_it_is_fetched(self, settings, tmp_path):
        settings.STRATA_MODELS_DIR = tmp_path

        assert describe_model_availability(SPEC).startswith("not under")


class TestReadPicture:
    @pytest.mark.parametrize(
        "content",
        [
            draw("red", size=(1, 1)),
            draw((0, 255, 255, 0), mode="CMYK", format="JPEG"),
            draw("red", format="WEBP", lossless=True),
            draw("red", format="GIF"),
            draw("red", format="GIF", save_all=True, append_images=[Image.new("RGB", (6, 4))]),
            draw((255, 0, 0, 255), mode="RGBA"),
        ],
        ids=["one-pixel", "cmyk-jpeg", "webp", "gif", "animation", "alpha"],
    )
    def test_reads_the_colour_in_every_format(self, read, content):
        picture = read(content)

        assert picture.mode == "RGB"
        assert picture.getpixel((0, 0)) == pytest.approx((255, 0, 0), abs=3)

    def test_scales_sixteen_bits(self, read):
        content = io.BytesIO()
        Image.fromarray(np.full((2, 2), 40_000, np.uint16)).save(content, "PNG")

        assert read(content.getvalue()).getpixel((0, 0)) == (156, 156, 156)

    def test_puts_transparent_pixels_on_white(self, read):
        palette = Image.new("P", (2, 2))
        palette.putpalette([255, 0, 0, 0, 0, 255])
        content = io.BytesIO()
        palette.save(content, "PNG", transparency=bytes([0, 255]))

        assert read(content.getvalue()).getpixel((0, 0)) == (255, 255, 255)
        assert read(draw((255, 0, 0, 0), mode="RGBA")).getpixel((0, 0)) == (255, 255, 255)

    def test_rotates_a_photograph_by_its_exif_data(self, read):
        photograph, exif = io.BytesIO(), Image.Exif()
        exif[0x0112] = 6  # rotated by 90 degrees
        Image.new("RGB", (6, 4)).save(photograph, "JPEG", exif=exif)

        assert read(photograph.getvalue()).size == (4, 6)

    def test_crops_the_middle_of_a_long_picture(self, read, clip, hung):
        strip = draw("blue", size=(1, 60_000))

        assert read(strip).size == (1, 8)
        [name] = hung(strip)
        vector = get_embedder(SPEC).embed_documents([name])[0]
        assert vector @ get_embedder(SPEC).embed_query("blue") > 0.99
