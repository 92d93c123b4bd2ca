"""Whether what stands in deploy/kubernetes/cluster and compose.cluster.yaml fits the relays.

Each pod's and each service's configuration is made as it would be there, with certificates of the
names that stand in the files, and read by `waystation check`.

Usage: cluster_contract.py WAYSTATION SCRATCH, as deploy_contract.py.
"""

import json
import pathlib
import re
import subprocess
import sys

import yaml

from deploy_contract import (
    MOUNTED, SECRETS, VARIABLE, check, check_monitoring, check_pod, check_selectors, end, expect,
    objects)

RELAYS = pathlib.Path("deploy/kubernetes/cluster/waystation.yaml")
CERTIFICATES = pathlib.Path("deploy/kubernetes/cluster/certificates.yaml")
COMPOSE = pathlib.Path("compose.cluster.yaml")
DATABASE = "postgresql://waystation@db-1.example.com/waystation?sslmode=verify-full&sslrootcert="


def openssl(*arguments):
    """Has openssl make something."""
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def make_certificate(folder, wanted):
    """Makes the Secret that cert-manager would make of a Certificate's specification."""
    words = {"server auth": "serverAuth", "client auth": "clientAuth"}
    names = ",".join(f"DNS:{name}" for name in wanted["dnsNames"])
    uses = ",".join(words[usage] for usage in wanted["usages"] if usage in words)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    openssl("req", "-x509", *key, "-subj", "/CN=relays", "-keyout", folder / "ca.key",
            "-out", folder / "ca.crt")
    openssl("req", "-x509", *key, "-subj", f"/CN={wanted['commonName']}",
            "-keyout", folder / "tls.key", "-out", folder / "tls.crt", "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
            "-addext", f"subjectAltName={names}", "-addext", f"extendedKeyUsage={uses}",
            "-addext", "basicConstraints=critical,CA:FALSE")


def mounted(container):
    """What a container mounts, by the path."""
    return {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}


def configure(pod, text, name, scratch):
    """Runs the container that makes a pod's configuration; returns that."""
    folder = scratch / name
    for one in ("waystation-template", "waystation"):
        (folder / one).mkdir(parents=True)
    (folder / "waystation-template/config.json").write_text(text, encoding="utf-8")
    container, = pod["initContainers"]
    command = [word.replace("/etc/", f"{folder}/") for word in container["command"]]
    fields = {"metadata.name": name}
    own = {one["name"]: fields.get(one["valueFrom"]["fieldRef"]["fieldPath"], "another")
           for one in container["env"]}
    subprocess.run(command, check=True, timeout=60, env={"PATH": "/usr/bin:/bin", **own})
    return (folder / "waystation/config.json").read_text(encoding="utf-8")


def check_kubernetes(waystation, scratch):
    """The objects belong together, and each pod's relay takes its configuration."""
    every = objects(RELAYS)
    text = every["ConfigMap", "waystation"]["data"]["config.json"]
    stateful = every["StatefulSet", "waystation"]["spec"]
    pod = stateful["template"]["spec"]
    secrets = scratch / "secrets"
    for folder in ("waystation", "relays", "database"):
        (secrets / folder).mkdir(parents=True)
    for name in re.findall(r"\$\{file:" + MOUNTED + r"/([A-Z0-9_]+)\}", text):
        (secrets / "waystation" / name).write_text(SECRETS[name], encoding="utf-8")
    (secrets / "database/password").write_text("secret", encoding="utf-8")
    wanted = objects(CERTIFICATES)["Certificate", "waystation-relays"]["spec"]
    make_certificate(secrets / "relays", wanted)
    (secrets / "database/ca.crt").write_bytes((secrets / "relays/ca.crt").read_bytes())

    names = [f"waystation-{number}" for number in range(stateful["replicas"])]
    expect(len(names) > 1, "one relay has no spare")
    expect(wanted["dnsNames"] == [f"{name}.{stateful['serviceName']}" for name in names],
           "the certificate names other pods than there are")
    for name in names:
        own = configure(pod, text, name, scratch)
        config = json.loads(own)
        relays, = [one for one in config["listen"] if isinstance(one, dict)]
        expect(relays["advertise"].startswith(f"{name}.{stateful['serviceName']}:"),
               f"{name} has another relay's address")
        path = scratch / f"{name}.json"
        path.write_text(own.replace("/run/secrets", str(secrets)), encoding="utf-8")
        check(waystation, ["--config", str(path)],
              {VARIABLE: SECRETS[VARIABLE],
               "WAYSTATION_POSTGRES_URL": f"{DATABASE}{secrets}/database/ca.crt"},
              f"the configuration of {name}")
    check_objects(every, pod, config, wanted["secretName"])


def check_objects(every, pod, config, certificates):
    """Ports, mounts and rules of the objects are those of the configuration."""
    container = pod["containers"][0]
    check_selectors(every)
    check_monitoring(every)
    check_pod(pod, config)
    relays = config["listen"][1]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    wanted = {"http": int(config["listen"][0].rsplit(":", 1)[1]),
              "relays": int(relays["address"].rsplit(":", 1)[1])}
    expect(ports == wanted, "the ports are other ones")
    headless = every["Service", every["StatefulSet", "waystation"]["spec"]["serviceName"]]["spec"]
    expect(headless["clusterIP"] == "None" and headless["publishNotReadyAddresses"],
           "relays cannot reach one that is not ready")
    expect({port["name"]: port["port"] for port in headless["ports"]} == wanted
           and relays["advertise"].endswith(f":{wanted['relays']}"),
           "the pods' Service has other ports")
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    where = mounted(container)
    for folder, secret in (("waystation", "waystation"), ("relays", certificates),
                           ("database", "waystation-database")):
        expect(volumes[where[f"/run/secrets/{folder}"]]["secret"]["secretName"] == secret,
               f"{secret} is not mounted where the configuration looks for it")
    shared = mounted(pod["initContainers"][0])
    expect(where["/etc/waystation"] == shared["/etc/waystation"]
           and "configMap" in volumes[shared["/etc/waystation-template"]],
           "the relay does not read what the other container writes")
    expect(pod["initContainers"][0]["image"] == container["image"], "there are two images")
    _, wait = container["lifecycle"]["preStop"]["exec"]["command"]
    expect(pod["terminationGracePeriodSeconds"] - int(wait) > config["shutdownGraceSeconds"],
           "what preStop waits is missing in the grace period")
    for rule in pod["topologySpreadConstraints"]:
        expect(rule["labelSelector"]["matchLabels"]
               == every["StatefulSet", "waystation"]["spec"]["selector"]["matchLabels"],
               "the pods are spread among others")
    expect(every["PodDisruptionBudget", "waystation"]["spec"]["maxUnavailable"] == 1,
           "several relays may be drained at once")


def check_compose(waystation, scratch):
    """The services of compose.cluster.yaml fit each other, and the relays take what is made."""
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    made = scratch / "made"
    prepare = services["prepare"]
    script, folder, databases, sink, *relays = prepare["entrypoint"]
    subprocess.run([f"deploy{script}", str(made), databases, sink, *relays], check=True, timeout=60)
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            expect(not source.startswith("./") or pathlib.Path(source).exists(),
                   f"{source} is missing")
            expect(not source.endswith(".sh") or pathlib.Path(source).stat().st_mode & 0o111,
                   f"{source} cannot be run")
    addresses = []
    for relay in relays:
        name, listen, for_relays, advertise = relay.split(",")
        service = services[name]
        addresses.append(f"{name}:{listen.rsplit(':', 1)[1]}")
        expect(advertise == f"{name}:{for_relays.rsplit(':', 1)[1]}", f"{name} cannot be reached")
        command = [word.replace(folder, str(made)) for word in service["command"]]
        expect(command[:2] == ["serve", "--config"] and command[2].startswith(f"{made}/{name}/"),
               f"{name} has another one's configuration")
        check(waystation, command[1:], service["environment"], f"{COMPOSE}, {name}")
    check_balancer(services["balancer"], addresses)
    port = services["sink"]["command"][-1].rsplit(":", 1)[1]
    expect(sink == f"http://sink:{port}", "the sink is elsewhere")
    check_databases(services, databases, made, folder)
    user = re.search(r"^USER (\S+)$", pathlib.Path("Dockerfile").read_text(encoding="utf-8"), re.M)
    owners = {"RELAY_OWNER": user[1], "DATABASE_OWNER": services["primary"]["user"]}
    expect(prepare["environment"] == owners, "what is made belongs to others")


def check_balancer(balancer, addresses):
    """The balancer leads to all relays, and fills its template in."""
    values = balancer["environment"]
    template = pathlib.Path(balancer["volumes"][0].split(":")[0]).read_text(encoding="utf-8")
    expect(set(re.findall(r"\$\{([A-Z0-9_]+)\}", template)) == set(values),
           "the balancer is given other variables than its template has")
    expect([value for name, value in values.items() if name.startswith("RELAY_")] == addresses,
           "the balancer leads elsewhere")
    expect(balancer["ports"][0].endswith(f":{values['BALANCER_LISTEN']}"), "another port is published")


def check_databases(services, databases, made, folder):
    """The standby follows the primary by the name that commits wait for; both find their files."""
    primary, standby = services["primary"], services["standby"]
    expect(databases == "primary:5432,standby:5432"
           and standby["entrypoint"][1:3] == ["primary", "5432"], "the databases are elsewhere")
    roles = pathlib.Path(primary["volumes"][0].split(":")[0]).read_text(encoding="utf-8")
    config = json.loads((made / "relay-1/config.json").read_text(encoding="utf-8"))
    expect(config["store"]["postgres"]["durability"] == "quorum"
           and "GRANT pg_read_all_stats TO waystation;" in roles,
           "the relays do not look, or may not see, whether a standby confirms commits")
    script = pathlib.Path(f"deploy{standby['entrypoint'][0]}").read_text(encoding="utf-8")
    name = re.search(r"cluster_name=(\w+)", script)[1]
    expect(f"synchronous_standby_names=ANY 1 ({name})" in primary["command"],
           "commits wait for another standby")
    words = primary["command"] + standby["entrypoint"] + list(primary["environment"].values())
    named = [word.split("=")[-1] for word in words if f"{folder}/" in word]
    expect(len(named) >= 4, "the databases name no files: this check looks in the wrong places")
    for path in named:
        expect(pathlib.Path(path.replace(folder, str(made))).exists(), f"nothing makes {path}")


def main():
    """Checks everything, and tells all that is wrong."""
    waystation, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    check_kubernetes(waystation, scratch)
    check_compose(waystation, scratch)
    end()


if __name__ == "__main__":
    main()
