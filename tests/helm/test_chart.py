import json
from copy import deepcopy

import pytest
from django.conf import settings
from django.urls import resolve

from config import gunicorn
from core.apps import list_queues
from tests.compose import read_our_services
from tests.helm.conftest import (
    CHART,
    VALUES,
    container,
    environment,
    of_kind,
    pods,
    read_values,
    render,
    render_named,
)

NOT_IN_KUBERNETES_ITSELF = {"ServiceMonitor"}  # of the Prometheus Operator
STRATA_PODS = {
    "web",
    "worker-planning",
    "worker-documents",
    "worker-indexing",
    "worker-llm",
    "beat",
}


@pytest.fixture(params=VALUES)
def manifests(request):
    return render_named(request.param)


class TestChart:
    @pytest.mark.parametrize("name", VALUES)
    def test_passes_helms_linter(self, name):
        import helm_python

        report = helm_python.lint(CHART, read_values(name), strict=True)

        informing = 1  # severity of "icon is recommended"
        assert report["errors"] == []
        assert [each for each in report["messages"] if each["severity"] > informing] == []

    @pytest.mark.parametrize("version", ["1.25", "1.37"])
    def test_is_valid_for_kubernetes(self, manifests, version):
        import kubernetes_validate

        assert manifests
        for manifest in manifests:
            if manifest["kind"] not in NOT_IN_KUBERNETES_ITSELF:
                kubernetes_validate.validate(manifest, version, strict=True)

    def test_gives_no_two_manifests_the_same_name(self, manifests):
        names = [(each["kind"], each["metadata"]["name"]) for each in manifests]

        assert len(names) == len(set(names))

    def test_keeps_names_short_enough(self):
        import helm_python

        with helm_python.Chart.load(CHART) as chart:
            rendered = chart.render(read_values("inline"), name="a" * 53, namespace="strata")

        for text in rendered.values():
            for name in (line for line in text.splitlines() if line.startswith("  name: ")):
                assert len(name.removeprefix("  name: ")) <= 63


class TestPods:
    def test_are_those_of_compose(self, manifests):
        assert set(pods(manifests)) | {"flower"} == set(read_our_services())

    def test_run_the_commands_of_compose(self):
        services = read_our_services()

        for name, pod in pods(render_named("s3")).items():
            assert container(pod)["command"] == services[name]["command"]

    def test_handle_each_queue_in_one_worker(self, manifests):
        commands = [container(pod)["command"] for pod in pods(manifests).values()]

        queues = [each[each.index("-Q") + 1] for each in commands if "-Q" in each]
        assert sorted(",".join(queues).split(",")) == sorted(list_queues())

    def test_have_one_image(self, manifests):
        assert len({container(pod)["image"] for pod in pods(manifests).values()}) == 1

    def test_have_no_rights(self, manifests):
        for name, pod in pods(manifests).items():
            user = pod["securityContext"]
            rights = container(pod)["securityContext"]
            assert user["runAsNonRoot"], name
            assert (user["runAsUser"], user["runAsGroup"], user["fsGroup"]) == (10001, 0, 10001)
            assert user["seccompProfile"] == {"type": "RuntimeDefault"}
            assert rights["readOnlyRootFilesystem"]
            assert not rights["allowPrivilegeEscalation"]
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert not pod["automountServiceAccountToken"]
            assert not pod["enableServiceLinks"]
            assert pod["shareProcessNamespace"]

    def test_have_no_ids_where_the_cluster_chooses_them(self):
        values = read_values("inline") | {"podSecurityContext": {"runAsUser": None}}

        for pod in pods(render(values)).values():
            assert pod["securityContext"] == {
                "runAsNonRoot": True,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            }

    def test_take_other_rights_and_variables(self):
        variables = [
            {"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
            {"name": "MODEL_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "model"}}},
        ]
        values = read_values("inline") | {
            "extraEnv": variables,
            "podSecurityContext": {"runAsUser": 1_000_660_000, "fsGroup": 7},
            "securityContext": {"readOnlyRootFilesystem": False},
        }

        for pod in pods(render(values)).values():
            assert pod["securityContext"]["runAsUser"] == 1_000_660_000
            assert pod["securityContext"]["fsGroup"] == 7
            assert not container(pod)["securityContext"]["readOnlyRootFilesystem"]
            assert container(pod)["env"][-2:] == variables

    def test_have_limits_and_a_place_for_temporary_files(self, manifests):
        for pod in pods(manifests).values():
            assert container(pod)["resources"]["limits"].keys() == {"cpu", "memory"}
            assert {"name": "tmp", "mountPath": "/tmp"} in container(pod)["volumeMounts"]

    def test_are_limited_as_in_compose(self):
        services = read_our_services()

        for name, pod in pods(render_named("s3")).items():
            limits = container(pod)["resources"]["limits"]
            memory, given = limits["memory"], services[name]["deploy"]["resources"]["limits"]
            unit = {"Gi": 2**30, "Mi": 2**20}[memory[-2:]]
            assert int(memory[:-2]) * unit == int(given["memory"])

    def test_of_the_web_are_asked_without_their_host_name(self, manifests):
        web = container(pods(manifests)["web"])

        asked = [web[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
        assert [resolve(each["path"]).url_name for each in asked] == ["live", "live", "ready"]
        for each in asked:
            assert each["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
            assert each["port"] == web["ports"][0]["name"]
        assert {"containerPort": 8000, "name": "http"} in web["ports"]

    def test_that_work_touch_the_file_that_is_looked_at(self, manifests):
        for name, pod in pods(manifests).items():
            if name == "beat" or name.startswith("worker-"):
                assert environment(pod)["STRATA_HEARTBEAT_FILE"] == "/tmp/alive"
                for kind in ("startup", "liveness"):
                    [*_, command] = container(pod)[f"{kind}Probe"]["exec"]["command"]
                    assert "$STRATA_HEARTBEAT_FILE" in command

    def test_may_end_what_they_have_begun(self, manifests):
        grace = {
            name: pod.get("terminationGracePeriodSeconds", 30)
            for name, pod in pods(manifests).items()
        }
        web = container(pods(manifests)["web"])
        [pause] = web["lifecycle"]["preStop"]["exec"]["command"][1:]

        assert grace["web"] > int(pause) + gunicorn.graceful_timeout
        assert grace["worker-documents"] > settings.STRATA_PARSE_SECONDS
        assert grace["worker-indexing"] > 2 * settings.STRATA_WORKER_RUN_SECONDS
        assert grace["worker-llm"] > settings.STRATA_LLM_TIMEOUT_SECONDS

    def test_of_beat_never_run_twice(self, manifests):
        beat = of_kind(manifests, "Deployment")["beat"]["spec"]

        assert beat["replicas"] == 1
        assert beat["strategy"] == {"type": "Recreate"}

    def test_start_anew_with_other_settings(self):
        values = read_values("inline")
        changed = deepcopy(values)
        changed["settings"]["STRATA_LOG_FORMAT"] = "plain"

        def checksum(given):
            web = of_kind(render(given), "Deployment")["web"]
            return web["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]

        assert checksum(values) == checksum(deepcopy(values)) != checksum(changed)


class TestSecrets:
    def test_are_nowhere_but_in_secrets(self, manifests):
        shown = json.dumps([each for each in manifests if each["kind"] != "Secret"])

        assert "a-secret-of-the-tests" not in shown

    def test_of_the_values_reach_the_pods_and_the_hook(self):
        values = read_values("inline")
        secrets = of_kind(render(values), "Secret")

        assert set(secrets) == {"secrets", "migrate-secrets"}
        for secret in secrets.values():
            assert secret["stringData"] == values["secrets"]

    def test_that_exist_are_used(self):
        manifests = render_named("existing-secrets")

        assert not of_kind(manifests, "Secret")
        for pod in pods(manifests).values():
            assert {"secretRef": {"name": "strata-secrets"}} in container(pod)["envFrom"]

    def test_of_flower_are_its_login_and_the_broker(self):
        flower = pods(render_named("s3"))["flower"]
        given = {each["name"]: each for each in container(flower)["env"]}

        assert "envFrom" not in container(flower)
        assert given["DJANGO_SETTINGS_MODULE"]["value"] == ""
        assert {
            name: each["valueFrom"]["secretKeyRef"]
            for name, each in given.items()
            if "valueFrom" in each
        } == {
            "CELERY_BROKER_URL": {"name": "strata-secrets", "key": "REDIS_URL"},
            "FLOWER_BASIC_AUTH": {"name": "search-strata-flower", "key": "FLOWER_BASIC_AUTH"},
        }
        assert [volume["name"] for volume in flower["volumes"]] == ["tmp"]


class TestSettings:
    def test_are_texts_that_the_service_reads(self):
        given = of_kind(render_named("inline"), "ConfigMap")["settings"]["data"]

        assert given == {
            "ALLOWED_HOSTS": "search.example.org,.example.net,localhost",
            "QDRANT_URL": "https://qdrant.example.org",
            "STRATA_EMERGENT_SIMILARITY": "0.9",
            "STRATA_LOG_FORMAT": "json",
            "STRATA_MAX_UPLOAD_BYTES": "1073741824",
        }

    def test_reach_each_pod_of_the_service(self, manifests):
        for name, pod in pods(manifests).items():
            if name != "flower":
                prefix = "search-strata-migrate" if name == "migrate" else "search-strata"
                reference = {"configMapRef": {"name": f"{prefix}-settings"}}
                assert reference in container(pod)["envFrom"]

    def test_of_one_kind_of_pod_are_those_of_compose(self):
        services = read_our_services()

        for name, pod in pods(render_named("inline")).items():
            for setting, value in environment(pod).items():
                assert services[name]["environment"][setting] == value, name

    def test_name_files_of_specs_pipelines_and_golden_queries(self):
        values, manifests = read_values("inline"), render_named("inline")
        maps = of_kind(manifests, "ConfigMap")

        for name in STRATA_PODS | {"migrate"}:
            pod = pods(manifests)[name]
            files = maps["migrate-files" if name == "migrate" else "files"]["data"]
            mounted = {each["name"]: each["mountPath"] for each in container(pod)["volumeMounts"]}
            shown = {
                f"{mounted[volume['name']]}/{item['path']}": files[item["key"]]
                for volume in pod["volumes"]
                if "configMap" in volume
                for item in volume["configMap"]["items"]
            }
            assert shown == {
                "/app/specs/handbook.yaml": values["specs"]["handbook"],
                "/app/specs/minutes.yaml": values["specs"]["minutes"],
                "/app/pipelines/short.yaml": values["pipelines"]["short"],
                "/app/golden/handbook/queries.jsonl": values["golden"]["handbook"]["queries.jsonl"],
                "/app/golden/handbook/qrels/test.tsv": values["golden"]["handbook"][
                    "qrels/test.tsv"
                ],
            }


class TestOriginals:
    def test_are_in_one_folder_that_all_share(self):
        manifests = render_named("inline")
        [claim] = of_kind(manifests, "PersistentVolumeClaim").values()

        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
        assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
        for name in STRATA_PODS - {"beat"}:
            [data] = [each for each in pods(manifests)[name]["volumes"] if each["name"] == "data"]
            used = data["persistentVolumeClaim"]["claimName"]
            assert used == claim["metadata"]["name"]

    def test_in_s3_leave_each_pod_a_folder_of_its_own(self):
        manifests = render_named("s3")

        assert not of_kind(manifests, "PersistentVolumeClaim")
        for name in STRATA_PODS | {"migrate"}:
            assert {"name": "data", "emptyDir": {}} in pods(manifests)[name]["volumes"]

    def test_may_be_in_a_claim_that_exists(self):
        values = read_values("existing-secrets") | {"persistence": {"existingClaim": "shared"}}
        manifests = render(values)

        assert not of_kind(manifests, "PersistentVolumeClaim")
        reference = {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}
        assert reference in pods(manifests)["web"]["volumes"]


class TestMigration:
    def test_comes_before_everything_else_with_what_it_needs(self, manifests):
        hooks = [
            each for each in manifests if "helm.sh/hook" in each["metadata"].get("annotations", {})
        ]
        weights = {
            each["kind"]: int(each["metadata"]["annotations"]["helm.sh/hook-weight"])
            for each in hooks
        }
        needed = json.dumps(pods(manifests)["migrate"])

        for each in hooks:
            assert each["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
            if each["kind"] != "Job":
                assert weights[each["kind"]] < weights["Job"]
                assert each["metadata"]["name"] in needed
        assert {"name": "data", "emptyDir": {}} in pods(manifests)["migrate"]["volumes"]
        assert "serviceAccountName" not in needed

    def test_accepts_other_indexing_only_if_told(self):
        values = read_values("existing-secrets") | {"migrate": {"acceptDifferences": True}}

        [*_, told] = container(pods(render(values))["migrate"])["command"]
        [*_, untold] = container(pods(render_named("existing-secrets"))["migrate"])["command"]
        assert "strata check_release --force &&" in told
        assert "strata check_release &&" in untold


class TestCluster:
    def test_scales_the_web_servers_alone(self):
        manifests = render_named("s3")
        [scaler] = of_kind(manifests, "HorizontalPodAutoscaler").values()

        assert scaler["spec"]["scaleTargetRef"]["name"] == "search-strata-web"
        assert "replicas" not in of_kind(manifests, "Deployment")["web"]["spec"]

    def test_evicts_one_pod_of_a_kind_at_a_time(self, manifests):
        budgets = of_kind(manifests, "PodDisruptionBudget")

        assert set(budgets) == STRATA_PODS - {"beat"}
        for name, budget in budgets.items():
            template = of_kind(manifests, "Deployment")[name]["spec"]["template"]
            wanted = budget["spec"]["selector"]["matchLabels"]
            assert wanted.items() <= template["metadata"]["labels"].items()
            assert budget["spec"]["maxUnavailable"] == 1

    def test_routes_each_host_to_the_web_servers(self):
        values = read_values("s3") | {"hosts": ["search.example.org", ".example.net", "*"]}
        [ingress] = of_kind(render(values), "Ingress").values()
        rules = ingress["spec"]["rules"]

        assert [rule.get("host") for rule in rules] == ["search.example.org", "*.example.net", None]
        [service] = {rule["http"]["paths"][0]["backend"]["service"]["name"] for rule in rules}
        ports = of_kind(render_named("s3"), "Service")["web"]["spec"]["ports"]
        assert service == "search-strata-web"
        assert ports == [{"name": "http", "port": 80, "targetPort": "http"}]

    def test_routes_a_path_of_each_host_and_its_metadata_to_the_web_servers(self):
        values = read_values("s3")
        values["ingress"]["path"] = "/strata/"
        manifests = render(values)
        [ingress] = of_kind(manifests, "Ingress").values()

        [rule] = ingress["spec"]["rules"]
        assert [each["path"] for each in rule["http"]["paths"]] == [
            "/strata/",
            "/.well-known/oauth-authorization-server/strata",
            "/.well-known/oauth-protected-resource/strata",
        ]
        for name in ("settings", "migrate-settings"):
            given = of_kind(manifests, "ConfigMap")[name]["data"]
            assert given["STRATA_BASE_PATH"] == "/strata"

    def test_lets_other_pods_reach_the_web_servers_alone(self):
        policies = {
            each["metadata"]["name"]: each["spec"]
            for each in render_named("s3")
            if each["kind"] == "NetworkPolicy"
        }

        assert "ingress" not in policies["search-strata"]
        assert policies["search-strata"]["policyTypes"] == ["Ingress"]
        [rule] = policies["search-strata-web"]["ingress"]
        assert rule["ports"] == [{"port": "http"}]
        assert rule["from"] == read_values("s3")["networkPolicy"]["from"]
        component = policies["search-strata-web"]["podSelector"]["matchLabels"]
        assert component["app.kubernetes.io/component"] == "web"

    def test_lets_prometheus_ask_each_web_server_with_its_key(self):
        manifests = render_named("s3")
        [monitor] = [each for each in manifests if each["kind"] == "ServiceMonitor"]
        [endpoint] = monitor["spec"]["endpoints"]
        service = of_kind(manifests, "Service")["web"]

        assert resolve(endpoint["path"]).url_name == "metrics"
        assert endpoint["authorization"] == {
            "credentials": {"name": "prometheus-key", "key": "key"}
        }
        wanted = monitor["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= service["metadata"]["labels"].items()
        hosts = environment(pods(manifests)["web"])["ALLOWED_HOSTS"]
        assert hosts == "search.example.org,localhost,$(POD_IP)"


def change(values, path, value):
    *parents, last = path.split(".")
    for name in parents:
        values = values.setdefault(name, {})
    values[last] = value


class TestWrongValues:
    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("hosts", []),
            ("ingress.path", "strata"),
            ("ingress.path", "//strata"),
            ("extraEnv", [{"name": "A-B", "value": "c"}]),
            ("podDisruptionBudget.maxUnavailable", 0),
            ("hosts", ["https://search.example.org"]),
            ("image.repository", ""),
            ("image.digest", "latest"),
            ("imagee", {}),
            ("settings.QDRANT_URL", "qdrant:6333"),
            ("settings.STRATA_PARSE_SECOND", 60),
            ("settings.STRATA_PARSE_SECONDS", "60 s"),
            ("settings.STRATA_PLAIN_HTTP", True),
            ("settings.STRATA_LOG_LEVEL", "LOUD"),
            ("settings.SECRET_KEY", "in a ConfigMap"),
            ("secrets.SECRET_KEY", "too short"),
            ("secrets.DATABASE_URL", "mysql://strata@db/strata"),
            ("secrets.REDIS_URL", "http://redis"),
            ("secrets.STRATA_S3_BUCKET", "strata-originals"),
            ("secrets.lower", "x"),
            ("specs.Hand_book", "title: Handbook"),
            ("workers.documents.queues", ["document"]),
            ("workers.documents.replicas", -1),
            ("workers.documents.terminationGracePeriodSeconds", 1),
            ("web.autoscaling.maxReplicas", 0),
            ("web.settings.WEB_CONCURENCY", 2),
            ("persistence.size", "much"),
            ("flower.enabled", "yes"),
            ("flower", {"enabled": True}),
            ("serviceMonitor", {"enabled": True}),
        ],
    )
    def test_are_refused_by_name(self, path, value):
        from helm_python import HelmValuesError

        values = read_values("inline")
        change(values, path, value)

        *_, name = path.split(".")
        with pytest.raises(HelmValuesError, match=name):
            render(values)

    @pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL", "REDIS_URL"])
    def test_missing_secrets_are_named(self, name):
        from helm_python import HelmValuesError

        values = read_values("inline")
        del values["secrets"][name]

        with pytest.raises(HelmValuesError, match=name):
            render(values)

    def test_secrets_are_given_in_one_way(self):
        from helm_python import HelmValuesError

        values = read_values("inline") | {"existingSecret": "strata-secrets"}

        with pytest.raises(HelmValuesError, match="secrets"):
            render(values)

    def test_the_defaults_name_what_is_required(self):
        from helm_python import HelmValuesError

        with pytest.raises(HelmValuesError) as refused:
            render({})

        for name in ("repository", "hosts", "QDRANT_URL", "SECRET_KEY"):
            assert name in str(refused.value)
