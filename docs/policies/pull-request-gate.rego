# Pull requests: a new critical or high finding, or a new secret, fails the check; a new medium one warns.
#
# Adapt: the severities, and what counts as new.
package svc.pr_scan

import rego.v1

default decision := "pass"

decision := "fail" if {
	count(failures) > 0
} else := "warn" if {
	count(warnings) > 0
}

failures contains "secret: it has to be revoked, removing it is not enough" if {
	is_new
	input.finding.category == "secret"
}

failures contains sprintf("severity %s", [input.finding.severity]) if {
	is_new
	input.finding.severity in {"critical", "high"}
}

warnings contains "severity medium" if {
	is_new
	input.finding.severity == "medium"
}

# What an earlier scan has seen is nothing that the pull request brings.
is_new if input.finding.first_seen_scan_id == input.scan.id

reasons := failures | warnings

# Tests.
found(finding) := {
	"finding": object.union({"category": "code", "first_seen_scan_id": "scan_2"}, finding),
	"scan": {"id": "scan_2"},
}

test_critical_and_high_fail if {
	decision == "fail" with input as found({"severity": "critical"})
	decision == "fail" with input as found({"severity": "high"})
	reasons == {"severity high"} with input as found({"severity": "high"})
}

test_secrets_fail_whatever_their_severity if {
	decision == "fail" with input as found({"severity": "medium", "category": "secret"})
	count(reasons) == 2 with input as found({"severity": "medium", "category": "secret"})
}

test_medium_warns if {
	decision == "warn" with input as found({"severity": "medium"})
	reasons == {"severity medium"} with input as found({"severity": "medium"})
}

test_the_rest_passes if {
	decision == "pass" with input as found({"severity": "low"})
	reasons == set() with input as found({"severity": "low"})
}

test_what_was_there_before_passes if {
	decision == "pass" with input as found({"severity": "critical", "first_seen_scan_id": "scan_1"})
	decision == "pass" with input as object.union(found({"severity": "critical"}), {"scan": null})
}
