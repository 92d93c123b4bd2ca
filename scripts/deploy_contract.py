"""Whether what stands in deploy/kubernetes and compose.yaml fits the relay, where there is one of it.

What several relays need is in cluster_contract.py.

Usage: deploy_contract.py WAYSTATION SCRATCH: the binary, and a folder for files (see
scripts/check-deploy). Run at the top of the repository.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import yaml

KUBERNETES = pathlib.Path("deploy/kubernetes/waystation.yaml")
MONITORING = pathlib.Path("deploy/kubernetes/monitoring.yaml")
COMPOSE = pathlib.Path("compose.yaml")

# What the Secret that is made by hand holds; values of the right form.
SECRETS = {
    "WAYSTATION_OPERATORS": "ops=steer:" + "0f" * 32 + ",prometheus=read:" + "2d" * 32,
    "FLEET_SECRET": "1e" * 32,
    "UPSTREAM_TOKEN": "secret",
}

# The one of them that the relay takes as a variable, and where the others are mounted as files.
VARIABLE = "WAYSTATION_OPERATORS"
MOUNTED = "/run/secrets/waystation"

failures = []


def expect(is_so, sentence):
    """Notes a sentence if something is not so."""
    if not is_so:
        failures.append(sentence)


def check(waystation, arguments, variables, what):
    """Has the relay look at a configuration."""
    environment = {"PATH": os.environ["PATH"], **variables}
    found = subprocess.run([waystation, "check", *arguments], env=environment, check=False,
                           capture_output=True, text=True, timeout=60)
    expect(found.returncode == 0, f"{what}: waystation check says\n{found.stderr}")


def objects(path):
    """The Kubernetes objects of a file, by kind and name."""
    found = {}
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        found[one["kind"], one["metadata"]["name"]] = one
    return found


def check_selectors(every):
    """What selects pods selects those of the StatefulSet."""
    labels = every["StatefulSet", "waystation"]["spec"]["template"]["metadata"]["labels"]
    for (kind, name), one in every.items():
        selector = {"Service": lambda spec: spec["selector"],
                    "PodDisruptionBudget": lambda spec: spec["selector"]["matchLabels"],
                    "StatefulSet": lambda spec: spec["selector"]["matchLabels"]}.get(kind)
        if selector:
            expect(selector(one["spec"]) == labels, f"{kind} {name} does not select the pod")


def check_pod(pod, config):
    """The pod asks the relay at the right places, leaves it room and time, and is shut in."""
    container = pod["containers"][0]
    expect(pod["terminationGracePeriodSeconds"] > config["shutdownGraceSeconds"],
           "the pod is killed before the relay's own grace period is over")
    for probe, target in [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"),
                          ("readinessProbe", "/readyz")]:
        expect(container[probe]["httpGet"] == {"path": target, "port": "http"},
               f"{probe} asks elsewhere")
    memory = int(container["resources"]["limits"]["memory"].removesuffix("Gi")) << 30
    expect(memory >= 4 * config["limits"]["memoryInFlightBytesMax"],
           "the memory's limit leaves too little beside requests in flight")
    for one in pod["containers"] + pod.get("initContainers", []):
        secured = one["securityContext"]
        expect(pod["securityContext"]["runAsNonRoot"] and secured["readOnlyRootFilesystem"]
               and not secured["allowPrivilegeEscalation"]
               and secured["capabilities"] == {"drop": ["ALL"]}, "the container may do too much")


def check_kubernetes(waystation, scratch):
    """The objects belong together, and the relay takes their configuration."""
    every = objects(KUBERNETES)
    text = every["ConfigMap", "waystation"]["data"]["config.json"]
    config = json.loads(text)
    named = set(re.findall(r"\$\{file:" + MOUNTED + r"/([A-Z0-9_]+)\}", text))
    expect(named | {VARIABLE} == set(SECRETS),
           "the configuration's files are not those of the Secret that its comment makes")
    secrets = scratch / "secrets"
    secrets.mkdir()
    for name in named:
        (secrets / name).write_text(SECRETS[name], encoding="utf-8")
    path = scratch / "config.json"
    path.write_text(text.replace(MOUNTED, str(secrets)), encoding="utf-8")
    variables = {VARIABLE: SECRETS[VARIABLE]}
    check(waystation, ["--config", str(path)], variables, "the ConfigMap")
    (secrets / "UPSTREAM_TOKEN").unlink()
    broken = subprocess.run([waystation, "check", "--config", str(path)], check=False,
                            env={"PATH": os.environ["PATH"], **variables}, capture_output=True,
                            text=True, timeout=60)
    expect(broken.returncode == 1 and "UPSTREAM_TOKEN" in broken.stderr,
           "a Secret that lacks a value is not told by the value's name")

    stateful = every["StatefulSet", "waystation"]["spec"]
    pod = stateful["template"]["spec"]
    container = pod["containers"][0]
    expect(stateful["replicas"] == 1, "one store has one relay")
    expect(("Service", stateful["serviceName"]) in every, "the StatefulSet's Service is missing")
    check_selectors(every)
    check_pod(pod, config)
    port = int(config["listen"].rsplit(":", 1)[1])
    expect([p["containerPort"] for p in container["ports"]] == [port], "the port is another one")
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    claims = [claim["metadata"]["name"] for claim in stateful["volumeClaimTemplates"]]
    expect(mounts.get(config["data"]) in claims, "the store is on no volume of its own")
    expect(mounts.get(MOUNTED) in
           [volume["name"] for volume in pod["volumes"]
            if volume.get("secret", {}).get("secretName") == "waystation"],
           "the Secret is not mounted where the configuration looks for it")
    expect([entry["name"] for entry in container["env"]] == [VARIABLE],
           "the container is given other variables")
    flag = container["args"].index("--config")
    expect(str(pathlib.PurePosixPath(container["args"][flag + 1]).parent) in mounts,
           "the configuration is not mounted where it is looked for")


def check_monitoring(every):
    """The ServiceMonitor finds each pod, once, and has a token that no pod is given."""
    monitor = yaml.safe_load(MONITORING.read_text(encoding="utf-8"))
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [one for (kind, _), one in every.items()
             if kind == "Service" and wanted <= one["metadata"]["labels"].items()]
    expect(len(found) == 1, f"the ServiceMonitor selects {len(found)} Services rather than one")
    endpoint, = monitor["spec"]["endpoints"]
    for service in found:
        expect(endpoint["port"] in [port["name"] for port in service["spec"]["ports"]],
               "the ServiceMonitor asks at a port that the Service does not have")
        expect(service["spec"]["publishNotReadyAddresses"],
               "a relay that is not ready is not scraped")
    token = endpoint["authorization"]["credentials"]["name"]
    pod = every["StatefulSet", "waystation"]["spec"]["template"]["spec"]
    given = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
    for container in pod["containers"]:
        given += [source["secretRef"]["name"] for source in container.get("envFrom", [])
                  if "secretRef" in source]
        given += [entry["valueFrom"]["secretKeyRef"]["name"] for entry in container.get("env", [])
                  if "secretKeyRef" in entry.get("valueFrom", {})]
    expect(given, "the pod is given no Secret, so this check looks in the wrong places")
    expect(token not in given, "the relay itself is given the token of its metrics")


def check_compose(waystation):
    """The relay takes what compose.yaml gives it."""
    relay = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["relay"]
    expect(relay["command"][0] == "serve", "compose.yaml does not begin with serve")
    check(waystation, relay["command"][1:], relay["environment"], "compose.yaml")


def end():
    """Tells all that is wrong, and ends."""
    for failure in failures:
        print(f"deploy: {failure}", file=sys.stderr)
    sys.exit(1 if failures else 0)


def main():
    """Checks everything, and tells all that is wrong."""
    waystation, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    check_kubernetes(waystation, scratch)
    check_monitoring(objects(KUBERNETES))
    check_compose(waystation)
    end()


if __name__ == "__main__":
    main()
