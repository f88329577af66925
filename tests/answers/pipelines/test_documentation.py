"""The examples in docs/how-to/declare-a-query-pipeline.md work as shown."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from django.conf import settings

from answers.exceptions import InvalidPipeline
from answers.pipelines.declaring import COMPONENTS, parse_declaration
from answers.pipelines.loading import RUN_INPUTS, load_pipeline
from tests.factories import give, sync
from tests.written import make_build

DOCS = Path(settings.BASE_DIR) / "docs"
GUIDE = (DOCS / "how-to" / "declare-a-query-pipeline.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "pipelines.md").read_text(encoding="utf-8")
[EXAMPLE, *_] = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


class TestGuide:
    def test_shows_a_pipeline_that_loads(self):
        assert load_pipeline(parse_declaration("minutes", EXAMPLE)).hits_component == "context"

    def test_shows_the_message_of_the_check(self):
        wrong = EXAMPLE.replace("unique: artifact", "unique: author")

        with pytest.raises(InvalidPipeline) as caught:
            load_pipeline(parse_declaration("minutes", wrong))

        assert str(caught.value) in GUIDE

    def test_shows_python_that_runs(self, db, store, embedder, capsys):
        build = make_build("minutes")
        sync(build, give("It was decided to mend the roof.", title="May", index="minutes"))
        [code] = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)

        exec(compile(code, "declare-a-query-pipeline.md", "exec"), {})

        assert capsys.readouterr().out.endswith(" May\n")

    def test_names_every_run_input(self):
        assert all(f"`{name}`" in GUIDE for name in RUN_INPUTS)


class TestReference:
    @pytest.mark.parametrize("name", COMPONENTS)
    def test_has_every_component_with_its_inputs_and_outputs(self, name):
        made = getattr(importlib.import_module(COMPONENTS[name]), name)()

        row, *_ = re.findall(rf"^\| `{name}` \| (.*) \| (.*) \| .* \|$", REFERENCE, re.MULTILINE)
        inputs, outputs = (set(re.findall(r"`(\w+)`", cell)) for cell in row)
        assert inputs == set(made.__haystack_input__._sockets_dict)
        assert outputs == set(made.__haystack_output__._sockets_dict)

    @pytest.mark.parametrize("name", COMPONENTS)
    def test_has_every_parameter(self, name):
        component = getattr(importlib.import_module(COMPONENTS[name]), name)

        parameters = set(inspect.signature(component.__init__).parameters) - {
            "self",
            "args",
            "kwargs",
        }

        listed = re.findall(r"^\|[^|]*\| `(\w+)` \|", REFERENCE, re.MULTILINE)
        assert parameters <= set(listed)
