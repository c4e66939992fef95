# Ownership: who looks after a finding, by its path, as CODEOWNERS does: of the patterns that match, the last wins.
#
# Adapt: the list. In a pattern * is anything within a folder, and ** anything at all.
package svc.ownership

import rego.v1

matches(path) := [rule |
	some rule in [
		{"pattern": "**", "owner": "@example/platform"},
		{"pattern": "**.tf", "owner": "@example/infrastructure"},
		{"pattern": "services/payments/**", "owner": "@example/payments"},
		{"pattern": "services/search/**", "owner": "search@example.com"},
		{"pattern": "services/*/web/**", "owner": "@example/frontend"},
		{"pattern": "**/package-lock.json", "owner": "@example/frontend"},
	]
	glob.match(rule.pattern, ["/"], path)
]

last(list) := list[count(list) - 1]

owner := last(matches(input.finding.location.path)).owner

reason := sprintf("matches %s", [last(matches(input.finding.location.path)).pattern])

# Tests.
test_what_nothing_else_matches if {
	owner == "@example/platform" with input.finding.location.path as "README.md"
	reason == "matches **" with input.finding.location.path as "README.md"
}

test_any_depth if {
	owner == "@example/infrastructure" with input.finding.location.path as "main.tf"
	owner == "@example/infrastructure" with input.finding.location.path as "infra/network/main.tf"
}

test_the_last_match_wins if {
	owner == "@example/payments" with input.finding.location.path as "services/payments/db/main.tf"
	owner == "@example/frontend" with input.finding.location.path as "services/payments/web/cart/form.ts"
	owner == "@example/frontend" with input.finding.location.path as "services/search/package-lock.json"
}

test_one_folder_only if {
	owner == "search@example.com" with input.finding.location.path as "services/search/app/web/page.ts"
}
