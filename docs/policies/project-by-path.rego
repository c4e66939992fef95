# Project: which project a finding of a monorepo belongs to, by the folder that it lies in.
#
# Adapt: the folders, each with a slash at its end, and the names of your projects (or their ids, proj_…). The first
# that the path begins with wins: a folder within another one stands above it.
package svc.project

import rego.v1

matches(path) := [rule |
	some rule in [
		{"folder": "services/payments/fraud/", "project": "fraud-detection"},
		{"folder": "services/payments/", "project": "payments"},
		{"folder": "services/search/", "project": "search"},
		{"folder": "packages/ui/", "project": "design-system"},
	]
	startswith(path, rule.folder)
]

# Undefined, and so undecided, where no folder matches.
project := matches(input.finding.location.path)[0].project

reason := sprintf("lies in %s", [matches(input.finding.location.path)[0].folder])

# Tests.
test_by_folder if {
	project == "payments" with input.finding.location.path as "services/payments/api/card.go"
	reason == "lies in services/payments/" with input.finding.location.path as "services/payments/api/card.go"
	project == "design-system" with input.finding.location.path as "packages/ui/package-lock.json"
}

test_the_folder_within_wins if {
	project == "fraud-detection" with input.finding.location.path as "services/payments/fraud/rules.py"
}

test_other_places_are_undecided if {
	not project with input.finding.location.path as "README.md"
	not project with input.finding.location.path as "services/payments-old/main.go"
	not project with input.finding.location.path as "vendor/services/search/main.go"
}
