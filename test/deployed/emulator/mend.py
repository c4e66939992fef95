"""Closes gaps of MiniStack that would hide a fault of ours, or fail where AWS does not.

    python mend.py                    changes the installed package, once

Each change names the text that it replaces. Where that text is not there, the release is another one,
and nothing may be assumed: the command fails.
"""

import pathlib

import ministack

ROOT = pathlib.Path(ministack.__file__).parent


def change(file, before, after, what):
    path = ROOT / file
    text = path.read_text()
    if after in text:
        return
    if before not in text:
        raise SystemExit(f"{file} is not that of the release that this was written for: {what}")
    path.write_text(text.replace(before, after))


# Step Functions retries and catches by the error's name; the emulator knows it by its message alone.
for line in (
    'status: "error", error: String(err.message || err), trace: err.stack || ""',
    'status: "error", error: e.message, trace: e.stack',
):
    name = line.split("error: ")[1].split(".")[0].removeprefix("String(")
    change("core/lambda_runtime.py", line, f"{line}, thrown: {name}.name", "names of errors")
change(
    "services/lambda_svc.py",
    '            error_type = "Runtime.HandlerError"\n            if _RIE',
    '            error_type = result.get("thrown") or "Runtime.HandlerError"\n            if _RIE',
    "names of errors",
)

# Buckets and queues refuse what comes without TLS; on loopback there is none, and nobody listens.
change(
    "app.py",
    'headers.get("x-forwarded-proto", "").split(",")[0].strip().lower() == "https")',
    'headers.get("x-forwarded-proto", "https").split(",")[0].strip().lower() == "https")',
    "loopback counts as TLS",
)

# A type that it does not know. Nothing of ours asks it for anything.
change(
    "services/cloudformation/provisioners.py",
    '    "AWS::EC2::VPCGatewayAttachment": {\n',
    '    "AWS::EC2::FlowLog": {\n'
    '        "create": lambda logical_id, props, stack_name: ("fl-" + new_uuid().replace("-", "")[:17], {}),\n'
    '        "delete": lambda physical_id, props: None,\n'
    "    },\n"
    '    "AWS::EC2::VPCGatewayAttachment": {\n',
    "flow logs",
)

# `Ref` of a secret is its ARN in CloudFormation. Its name, which is what comes here, fits no policy.
PROVISIONERS = "services/cloudformation/provisioners.py"
change(
    PROVISIONERS,
    '        _sm_secret_replicate(name, props["ReplicaRegions"])\n    return name, {"Id": arn, "Arn": arn}\n',
    '        _sm_secret_replicate(name, props["ReplicaRegions"])\n    return arn, {"Id": arn, "Arn": arn}\n',
    "Ref of a secret",
)
change(
    PROVISIONERS,
    '    name = new_props.get("Name") or _physical_name(stack_name, logical_id or physical_id)\n'
    "    secret = _sm._secrets.get(physical_id)\n",
    '    name = new_props.get("Name") or _physical_name(stack_name, logical_id or physical_id)\n'
    "    physical_id = _sm._resolve(physical_id)[0] or physical_id\n"
    "    secret = _sm._secrets.get(physical_id)\n",
    "Ref of a secret",
)
change(
    PROVISIONERS,
    '        _sm_secret_replicate(physical_id, new_props["ReplicaRegions"])\n'
    '    return physical_id, {"Id": secret["ARN"], "Arn": secret["ARN"]}\n',
    '        _sm_secret_replicate(physical_id, new_props["ReplicaRegions"])\n'
    '    return secret["ARN"], {"Id": secret["ARN"], "Arn": secret["ARN"]}\n',
    "Ref of a secret",
)
change(
    PROVISIONERS,
    "def _sm_secret_delete(physical_id, props):\n    secret = _sm._secrets.get(physical_id)\n",
    "def _sm_secret_delete(physical_id, props):\n"
    "    physical_id = _sm._resolve(physical_id)[0] or physical_id\n"
    "    secret = _sm._secrets.get(physical_id)\n",
    "Ref of a secret",
)

# The gateway calls a function only where the function's own policy lets it. The source of `$default` has
# two segments, that of any other route three (the method and the path).
change(
    "services/apigateway.py",
    "    # Route through the central _execute_function dispatcher so CloudWatch\n",
    "    import fnmatch\n"
    '    _path = "$default" if route_key == "$default" else route_key.replace(" /", "/", 1)\n'
    '    _source = f"{api_id}/{stage}/{_path}"\n'
    '    _grants = (func_data.get("policy") or {}).get("Statement", [])\n'
    '    _allowed = [((one.get("Condition") or {}).get("ArnLike") or {}).get("AWS:SourceArn", "") for one in _grants]\n'
    '    if not any(fnmatch.fnmatchcase(_source, arn.split(":", 5)[-1].replace("[", "[[]")) for arn in _allowed):\n'
    '        logger.warning("Not allowed to call %s from %s", func_name, _source)\n'
    '        return 500, {"Content-Type": "application/json"}, b\'{"message": "Internal Server Error"}\'\n'
    "    # Route through the central _execute_function dispatcher so CloudWatch\n",
    "permissions of the gateway",
)

# Who asked for what, and the answer: a line a question, in the file of ASPM_IAM_LOG.
change(
    "core/iam_evaluator.py",
    '    if result.decision == "Allow":\n        return None\n',
    "    import os\n"
    '    if os.environ.get("ASPM_IAM_LOG"):\n'
    '        with open(os.environ["ASPM_IAM_LOG"], "a", encoding="utf-8") as log:\n'
    '            log.write("\\t".join((principal.arn, iam_action, resource_arn, result.decision)) + "\\n")\n'
    '    if result.decision == "Allow":\n        return None\n',
    "the log of IAM",
)

# It has no metric math. Such an alarm is taken, and watches nothing: test/pipeline/alarms.test.ts evaluates it.
change(
    PROVISIONERS,
    '    if props.get("Metrics"):\n        raise ValueError(\n'
    '            "AWS::CloudWatch::Alarm Properties.Metrics (metric math) is not supported; "\n'
    '            "use MetricName and Namespace."\n        )\n',
    '    if props.get("Metrics"):\n'
    '        props = {**props, "MetricName": "NotEvaluated", "Namespace": "MetricMath"}\n',
    "alarms of metric math",
)
