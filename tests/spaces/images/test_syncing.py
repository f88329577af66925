from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import add_artifact
from indexing.models import Node
from indexing.services import plan_nodes, sync_nodes
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.factories import original_path
from tests.pictures import draw


class TestSyncing:
    def test_fails_while_the_file_is_gone_and_recovers_with_the_next_revision(
        self, gallery, add_picture
    ):
        file = save_incoming_file("heron.png", [draw("red")])
        artifact, _ = add_artifact("gallery", file, external_id="heron")
        parse_artifact(artifact.pk)
        plan_nodes(artifact.pk, gallery)
        original_path(Artifact.objects.get()).unlink()
        while sync_nodes(gallery):
            pass
        assert "No such file" in Node.objects.get(state=Node.State.FAILED).last_error

        revised = add_picture(draw("blue"), external_id="heron")

        [[point]] = get_store().scroll(gallery.collection("image"))
        assert point.payload["source_hash"] == revised.sha256
        assert verify_build(gallery).is_sound
