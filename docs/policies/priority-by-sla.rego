# Priority: p0 (now) to p4 (some day). The severity says where a finding begins; what makes it more urgent or less
# moves it from there.
#
# Adapt: `begins_at`, and the rules `steps`.
package svc.priority

import rego.v1

begins_at(severity) := {"critical": 1, "high": 2, "medium": 3, "low": 4, "info": 4}[severity]

# Each has a name of its own, so that several can hold: how far up, and why.
steps["exploited: listed in KEV"] := 2 if input.finding.kev

steps["likely to be exploited"] := 1 if {
	not input.finding.kev
	input.finding.epss_score >= 0.5
}

steps["the asset is critical"] := 1 if input.asset.criticality == "critical"

steps["the asset matters little"] := -1 if input.asset.criticality == "low"

steps["past its due date"] := 1 if days_left <= 0

steps["due soon"] := 1 if {
	days_left > 0
	days_left * 4 <= sla_days
}

# What organization.settings.sla_days allows for the severity; undefined where it sets no date.
sla_days := days_between(input.finding.created_at, input.finding.sla_due_at)

# Policies have no clock: the age says how much of that time has passed, in whole days.
days_left := sla_days - input.finding.age_days

days_between(from, to) := (time.parse_rfc3339_ns(to) - time.parse_rfc3339_ns(from)) / (24 * 60 * 60 * 1000000000)

rank := begins_at(input.finding.severity) - sum([step | some step in steps])

priority := sprintf("p%d", [min([4, max([0, rank])])])

reasons contains sprintf("severity %s", [input.finding.severity])

reasons contains reason if some reason, _ in steps

# Tests. A medium finding with 90 days, of which 10 have passed:
found(finding, criticality) := {
	"finding": object.union(
		{
			"severity": "medium",
			"kev": false,
			"epss_score": 0,
			"created_at": "2026-01-01T00:00:00.000Z",
			"sla_due_at": "2026-04-01T00:00:00.000Z",
			"age_days": 10,
		},
		finding,
	),
	"asset": {"criticality": criticality},
}

test_begins_with_the_severity if {
	priority == "p3" with input as found({}, "medium")
	priority == "p1" with input as found({"severity": "critical"}, "medium")
	reasons == {"severity medium"} with input as found({}, "medium")
}

test_due_soon_and_past_due if {
	steps == {} with input as found({"age_days": 67}, "medium")
	priority == "p2" with input as found({"age_days": 68}, "medium")
	steps == {"due soon": 1} with input as found({"age_days": 89}, "medium")
	steps == {"past its due date": 1} with input as found({"age_days": 90}, "medium")
}

test_no_due_date if steps == {} with input as found({"sla_due_at": null, "age_days": 900}, "medium")

test_exploited_or_likely if {
	priority == "p1" with input as found({"kev": true, "epss_score": 0.9}, "medium")
	priority == "p2" with input as found({"epss_score": 0.9}, "medium")
}

test_by_asset if {
	priority == "p2" with input as found({}, "critical")
	priority == "p4" with input as found({}, "low")
}

test_never_beyond_p0_and_p4 if {
	priority == "p0" with input as found({"severity": "critical", "kev": true, "age_days": 100}, "critical")
	priority == "p4" with input as found({"severity": "info"}, "low")
}
