import pytest

from answers.exceptions import InvalidPipeline, UnknownPipeline
from answers.pipelines.declaring import parse_declaration, read_declaration, read_declarations

SOUND = """
components:
  fusion: {type: Fusion}
  context: {type: ContextBuilder}
connections:
  - {sender: fusion.passages, receiver: context.passages}
"""


def refusal(text):
    with pytest.raises(InvalidPipeline) as caught:
        parse_declaration("mine", text)
    assert str(caught.value).startswith("mine.yaml")
    return caught.value


class TestParseDeclaration:
    def test_orders_components_after_their_senders(self):
        assert parse_declaration("mine", SOUND).execution_order == ["fusion", "context"]

    def test_accepts_the_full_name_of_a_component(self):
        text = SOUND.replace("type: Fusion", "type: answers.pipelines.fusion_component.Fusion")

        assert parse_declaration("mine", text).components["fusion"].type_name == "Fusion"

    @pytest.mark.parametrize(
        "type",
        [
            "subprocess.Popen",
            "haystack.components.builders.PromptBuilder",
            "haystack.components.converters.OutputAdapter",
            "elsewhere.Fusion",
            "answers.pipelines.loading.Fusion",
            "os.system",
            "fusion",
            "",
        ],
    )
    def test_refuses_every_other_class_and_names_the_components(self, type):
        error = refusal(SOUND.replace("type: Fusion", f"type: '{type}'"))

        assert "components.fusion.type" in str(error)
        assert "Fusion" in error.allowed

    def test_does_not_import_a_refused_class(self, tmp_path, monkeypatch):
        (tmp_path / "trap.py").write_text("raise SystemExit('it was imported')")
        monkeypatch.syspath_prepend(tmp_path)

        refusal(SOUND.replace("type: Fusion", "type: trap.Fusion"))

    @pytest.mark.parametrize(
        "parameters",
        [
            "{w: {type: subprocess.Popen, init_parameters: {args: [id]}}}",
            "{w: {type: env_var, env_vars: [HOME], strict: true}}",
            "{deep: [{er: {type: os.system}}]}",
        ],
    )
    def test_refuses_parameters_that_name_a_type(self, parameters):
        text = SOUND.replace("type: Fusion", f"type: Fusion, init_parameters: {parameters}")

        assert "the key 'type' is not allowed" in str(refusal(text))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("components: [", "is not YAML"),
            ("[" * 5_000, "is nested too deeply"),
            ("!!python/object/apply:os.system ['id']", "is not YAML"),
            ("- fusion", "must hold a mapping"),
            ("", "must hold a mapping"),
            ("connections: []", "components: Field required"),
            (SOUND + "run_first: id", "run_first: there is no such setting"),
            (SOUND.replace("receiver", "reciever"), "reciever: there is no such setting"),
            (SOUND + "connection_type_validation: false", "connection_type_validation"),
            (SOUND.replace("  fusion:", "  Fu-sion:"), "is not a valid name for a component"),
            (
                "components: {fusion: {type: Fusion}}",
                "there must be exactly one ContextBuilder",
            ),
            (SOUND.replace("fusion.passages", "fission.passages"), "does not name a component"),
            (
                SOUND + "  - {sender: context.passages, receiver: fusion.rankings}",
                "they must not form a cycle: ",
            ),
        ],
    )
    def test_reports_invalid_declarations(self, text, said):
        assert said in str(refusal(text)).replace(
            "fusion -> context -> fusion", "context -> fusion -> context"
        )


class TestReadDeclaration:
    def test_finds_the_pipelines_of_strata(self):
        names = {each.name for each in read_declarations() if not isinstance(each, InvalidPipeline)}

        assert {"plain", "papers"} <= names

    def test_prefers_the_file_of_a_user(self, declare):
        declare("plain", SOUND)

        assert list(read_declaration("plain").components) == ["fusion", "context"]

    def test_names_the_existing_pipelines(self):
        with pytest.raises(UnknownPipeline) as caught:
            read_declaration("../secrets")

        assert {"plain", "papers"} <= set(caught.value.allowed)

    def test_returns_the_error_of_an_invalid_file(self, declare):
        declare("mine", "components: [")

        [mistake] = [each for each in read_declarations() if isinstance(each, InvalidPipeline)]
        assert str(mistake).startswith("mine.yaml is not YAML")

    @pytest.mark.parametrize("name", ["Mine", "my pipeline", "mine.v2"])
    def test_refuses_files_with_invalid_names(self, declare, name):
        declare(name, SOUND)

        with pytest.raises(InvalidPipeline, match="named after the file"):
            read_declaration(name)
