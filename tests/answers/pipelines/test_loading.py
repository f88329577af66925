import subprocess
import sys
import threading

import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from answers import checks
from answers.exceptions import InvalidPipeline
from answers.pipelines import loading
from answers.pipelines.declaring import parse_declaration, read_declaration
from answers.pipelines.loading import get_pipeline, load_pipeline
from indexing.spec import IndexSpec
from tests.answers.pipelines import components
from tests.answers.pipelines.conftest import ASKING


def load(text):
    return load_pipeline(parse_declaration("mine", text))


def refusal(text):
    with pytest.raises(InvalidPipeline) as caught:
        load(text)
    assert str(caught.value).startswith("mine.yaml")
    return caught.value


@pytest.mark.usefixtures("stand_ins")
class TestLoadPipeline:
    def test_connects_run_inputs_to_unconnected_sockets(self):
        loaded = load(ASKING)

        assert set(loaded.run_inputs["filters"]) == {"index", "query", "filter"}
        assert set(loaded.run_inputs["retriever"]) == {
            "index",
            "grant",
            "limit",
            "versions",
            "read",
        }
        assert set(loaded.run_inputs["context"]) == {"limit"}
        assert loaded.hits_component == "context"
        assert loaded.senders["context"] == {"filters", "fusion"}

    @pytest.mark.parametrize(
        ("old", "new", "said", "allowed"),
        [
            ("artifact, multi", "artifact, muti", "no parameter 'mutiplier'", "w"),
            ("unique: artifact", "unique: author", "init_parameters.unique", None),
            ("unique: artifact", "w: much", "w: Input should be a valid number", None),
            ("unique: artifact", "w: 1.5", "w must be between 0 and 1", None),
            ("sender: filters.query, receiver: q", "sender: filters.words, receiver: q",
             "'filters.words' is not an output", "filters.query"),
            ("receiver: queries.query}", "receiver: queries.words}", "'queries.words' is not an",
             "queries.query"),
            ("sender: retriever.rankings", "sender: queries.queries", "types do not match", None),
            ("  - {sender: fusion.passages, receiver: context.passages}\n", "",
             "nothing is connected to context.passages", None),
            ("  filters:", "  needy: {type: Needy}\n  filters:",
             "nothing is connected to needy.wish", None),
        ],
    )  # fmt: skip
    def test_reports_invalid_pipelines(self, old, new, said, allowed):
        assert old in ASKING

        error = refusal(ASKING.replace(old, new))

        assert said in str(error)
        assert allowed is None or allowed in error.allowed


class TestShippedPipelines:
    @pytest.mark.parametrize("name", ["plain", "papers"])
    def test_load(self, name):
        assert load_pipeline(read_declaration(name)).name == name

    @pytest.mark.parametrize("name", ["plain", "papers"])
    def test_are_valid_haystack_pipelines(self, name):
        from haystack import Pipeline

        declaration = read_declaration(name)
        content = declaration.model_dump(exclude={"name"})
        for component in content["components"].values():
            module = loading.COMPONENTS[component["type"]]
            component["type"] = f"{module}.{component['type']}"

        theirs = Pipeline.loads(yaml.safe_dump(content), allowed_modules=["answers.pipelines.*"])

        assert set(theirs.graph.edges) == set(load_pipeline(declaration).haystack.graph.edges)


@pytest.mark.usefixtures("stand_ins")
class TestGetPipeline:
    def test_loads_each_pipeline_once(self, declare, monkeypatch):
        declare("mine", ASKING)
        made = []
        real = loading.load_pipeline
        monkeypatch.setattr(
            loading, "load_pipeline", lambda declaration: made.append(1) or real(declaration)
        )
        got = []
        threads = [threading.Thread(target=lambda: got.append(get_pipeline("mine"))) for _ in "123"]

        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(made) == 1
        assert got[0] is got[1] is got[2]

    def test_warms_up_components_before_the_first_question(self, monkeypatch):
        warmed = []
        monkeypatch.setattr(
            components.FilterParser, "warm_up", lambda self: warmed.append(self), raising=False
        )

        get_pipeline("papers")
        get_pipeline("papers")

        assert len(warmed) == 1

    def test_returns_one_pipeline_while_the_model_of_another_loads(self, declare, monkeypatch):
        declare("mine", ASKING)
        is_loading, may_end = threading.Event(), threading.Event()

        def warm_up(self):
            if not is_loading.is_set():
                is_loading.set()
                may_end.wait()

        monkeypatch.setattr(components.FilterParser, "warm_up", warm_up, raising=False)
        got = []
        loading_one = threading.Thread(target=get_pipeline, args=["papers"], daemon=True)
        loading_one.start()
        assert is_loading.wait(30)
        other = threading.Thread(target=lambda: got.append(get_pipeline("mine")), daemon=True)

        other.start()

        other.join(10)
        meanwhile = list(got)
        may_end.set()
        loading_one.join(30)
        other.join(30)
        assert [loaded.name for loaded in meanwhile] == ["mine"]


class TestTelemetry:
    def test_is_disabled_before_haystack_is_imported(self):
        code = (
            "import answers.pipelines, haystack.telemetry._telemetry as t; "
            "assert t.telemetry is None"
        )

        subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=True)


class TestChecks:
    def test_accept_the_shipped_pipelines(self):
        assert checks.check_pipelines() == checks.check_pipelines_load() == []

    def test_name_an_invalid_file(self, declare):
        declare("mine", "components: [")

        [message] = checks.check_pipelines()

        assert message.id == "answers.E002"
        assert message.msg.startswith("mine.yaml is not YAML")

    def test_name_an_invalid_parameter(self, declare):
        declare("mine", ASKING.replace("unique: artifact", "unique: author"))

        [message] = checks.check_pipelines_load()

        assert "fusion.init_parameters.unique" in message.msg

    def test_name_a_missing_folder(self, settings, tmp_path):
        settings.STRATA_PIPELINES_DIR = str(tmp_path / "nowhere")

        [message] = checks.check_pipelines()

        assert message.id == "answers.E001"

    def test_name_a_spec_with_an_unknown_pipeline(self, monkeypatch):
        spec = IndexSpec.model_validate({"name": "minutes", "search": {"pipeline": "gone"}})
        monkeypatch.setattr(checks, "get_specs", lambda: {"minutes": spec})

        [message] = checks.check_pipelines_of_specs()

        assert "gone" in message.msg
        assert "papers" in message.hint

    def test_stop_the_check_command(self, declare):
        declare("mine", ASKING.replace("unique: artifact", "unique: author"))

        with pytest.raises(SystemCheckError, match=r"fusion\.init_parameters\.unique"):
            call_command("check")

    def test_do_not_import_haystack_outside_the_check_command(self):
        code = (
            "import django, sys; django.setup(); "
            "from django.core.checks import run_checks; run_checks(); "
            "assert not {'haystack', 'llama_index.core'} & set(sys.modules)"
        )
        environment = {"DJANGO_SETTINGS_MODULE": "config.settings.test"}

        subprocess.run(
            [sys.executable, "-c", code],
            cwd=settings.BASE_DIR, check=True, env={**environment},
        )  # fmt: skip
