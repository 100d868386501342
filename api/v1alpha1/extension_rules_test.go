package v1alpha1_test

import (
	"maps"
	"slices"
	"strings"
)

func extensionRules() []rule {
	all := []rule{
		{"Extension", "client id", spec{"clientID": "a.B-9_"}, spec{"clientID": "a b"}, "clientID"},
		{"Extension", "client id length", spec{"clientID": long(128)}, spec{"clientID": long(129)}, "128"},
		{"Extension", "client id not empty", spec{"clientID": "a"}, spec{"clientID": ""}, "clientID"},
		{"Extension", "app id", spec{"appIDs": texts(2, "app#")}, spec{"appIDs": texts(1, "a:b")}, "appIDs"},
		{"Extension", "app id length", spec{"appIDs": texts(1, long(128))}, spec{"appIDs": texts(1, long(129))}, "128"},
		{"Extension", "app id twice", spec{"appIDs": texts(2, "app#")}, spec{"appIDs": texts(2, "app")}, "Duplicate"},
		{"Extension", "app ids", spec{"appIDs": texts(64, "app#")}, spec{"appIDs": texts(65, "app#")}, "64"},
		{"Extension", "client among app ids", spec{"appIDs": texts(1, "app")}, spec{"appIDs": texts(1, "quiz")}, "must not be one of appIDs"},
		{"Extension", "owner length", spec{"ownerUserID": long(128)}, spec{"ownerUserID": long(129)}, "128"},
		{"Extension", "admin not empty", spec{"adminUserIDs": texts(1, "1")}, spec{"adminUserIDs": texts(1, "")}, "adminUserIDs"},
		{"Extension", "admin length", spec{"adminUserIDs": texts(1, long(128))}, spec{"adminUserIDs": texts(1, long(129))}, "128"},
		{"Extension", "admin twice", spec{"adminUserIDs": texts(2, "#")}, spec{"adminUserIDs": texts(2, "1")}, "Duplicate"},
		{"Extension", "admins", spec{"adminUserIDs": texts(256, "#")}, spec{"adminUserIDs": texts(257, "#")}, "256"},
		{"Extension", "moderators", spec{"moderators": "staff"}, spec{"moderators": "admins"}, "Unsupported value"},
		{"Extension", "external role", spec{"externalRole": "backend"}, spec{"externalRole": "admin"}, "Unsupported value"},
		{"Extension", "some key", spec{"keys": nil, "sandbox": spec{"keys": keys(1)}}, spec{"keys": nil}, "has a key"},
		{"Extension", "no key in the sandbox either", spec{"sandbox": spec{}}, spec{"keys": nil, "sandbox": spec{}}, "has a key"},
	}
	signIn := func(members spec) spec {
		s := spec{"issuer": "https://id.example", "clientID": "acclaim", "redirectURL": "https://votes.example/v1/staff/callback"}
		maps.Copy(s, members)
		return spec{"signIn": s}
	}
	staff := func(claim, value, channel, channelClaim, role string, scopes ...any) spec {
		s := spec{"claim": claim, "role": role}
		for name, member := range map[string]string{"value": value, "channel": channel, "channelClaim": channelClaim} {
			if member != "" {
				s[name] = member
			}
		}
		if scopes != nil {
			s["scopes"] = scopes
		}
		return signIn(spec{"staff": []any{s}})
	}
	moderator := staff("groups", "mods", "1", "", "moderator", "polls", "answers")
	all = append(all,
		rule{"Extension", "issuer", signIn(nil), signIn(spec{"issuer": "id.example"}), "must be an http or https URL"},
		rule{"Extension", "redirect URL", signIn(spec{"redirectURL": "http://127.0.0.1:8080/v1/staff/callback"}), signIn(spec{"redirectURL": "javascript:alert(1)"}), "must be an http or https URL"},
		rule{"Extension", "client of the issuer", signIn(spec{"clientID": long(256)}), signIn(spec{"clientID": ""}), "clientID"},
		rule{"Extension", "client's secret", signIn(spec{"clientSecretRef": spec{"name": "a", "key": "b"}}), signIn(spec{"clientSecretRef": spec{"name": "a"}}), "Required"},
		rule{"Extension", "staff's claim", moderator, staff("", "mods", "1", "", "moderator", "polls"), "claim"},
		rule{"Extension", "staff's channel", moderator, staff("groups", "mods", "1", "sub", "moderator", "polls"), "exactly one of channel and channelClaim"},
		rule{"Extension", "staff of no channel", staff("sub", "", "", "sub", "broadcaster"), staff("sub", "1", "", "", "broadcaster"), "exactly one of channel and channelClaim"},
		rule{"Extension", "staff that is everyone", staff("sub", "", "", "sub", "broadcaster"), staff("sub", "", "1", "", "broadcaster"), "everyone would be staff"},
		rule{"Extension", "staff's role", moderator, staff("sub", "1", "1", "", "admin"), "Unsupported value"},
		rule{"Extension", "moderator's scopes", moderator, staff("sub", "1", "1", "", "moderator"), "a moderator has scopes"},
		rule{"Extension", "moderator's known scopes", moderator, staff("sub", "1", "1", "", "moderator", "keys"), "Unsupported value"},
		rule{"Extension", "broadcaster's scopes", staff("sub", "1", "1", "", "broadcaster"), staff("sub", "1", "1", "", "broadcaster", "polls"), "a broadcaster has none"})
	all = append(all, viewerRules()...)
	platform := []any{spec{"name": "viewers", "pubsub": spec{}}}
	all = append(all,
		rule{"Extension", "pub/sub", spec{"ownerUserID": "1", "sinks": platform}, spec{"sinks": platform}, "needs ownerUserID"},
		rule{"Extension", "pub/sub of the sandbox", spec{"ownerUserID": "1", "sandbox": spec{"sinks": platform}},
			spec{"ownerUserID": "", "sandbox": spec{"sinks": platform}}, "needs ownerUserID"})
	elsewhere := []any{spec{"name": "viewers", "pubsub": spec{"url": "https://example.com/pubsub"}}}
	for name, sinks := range map[string]spec{"": {"sinks": elsewhere}, " of the sandbox": {"sandbox": spec{"sinks": elsewhere}}} {
		bad := spec{"ownerUserID": "1", "externalRole": "backend"}
		maps.Copy(bad, sinks)
		good := maps.Clone(bad)
		delete(good, "externalRole")
		all = append(all, rule{"Extension", "external role and pub/sub" + name, good, bad, "with externalRole, a sink of kind pubsub has no url"})
	}
	production := environmentRules()
	return slices.Concat(all, production, inSandbox(production))
}

// environmentRules are those of what production and the sandbox both have.
func environmentRules() []rule {
	key := func(ref spec, from any) spec {
		k := spec{"secretRef": ref}
		if from != nil {
			k["activeFrom"] = from
		}
		return spec{"keys": []any{k}}
	}
	sinks := func(all ...any) spec { return spec{"sinks": all} }
	sink := func(name, url string) spec {
		return spec{"name": name, "webhook": spec{"url": url, "keys": keys(1)}}
	}
	hook := func(url string) spec { return sinks(sink("a", url)) }
	origin := func(texts ...any) spec { return spec{"allowedOrigins": texts} }
	rate := func(name string, perSecond, burst int) spec {
		return spec{"limits": spec{name: spec{"perSecond": perSecond, "burst": burst}}}
	}
	all := []rule{
		{"Extension", "keys", spec{"keys": keys(16)}, spec{"keys": keys(17)}, "16"},
		{"Extension", "equal keys", spec{"keys": keys(2)}, spec{"keys": append(keys(1), keys(1)...)}, "keys must name different entries of Secrets"},
		{"Extension", "keys not empty", spec{"keys": keys(1)}, spec{"keys": []any{}}, "at least 1"},
		{"Extension", "Secret not empty", key(spec{"name": "a", "key": "b"}, nil), key(spec{"name": "", "key": "b"}, nil), "name"},
		{"Extension", "Secret's name", key(spec{"name": "a.b-c", "key": "b"}, nil), key(spec{"name": "Not A Name", "key": "b"}, nil), "the name of a Secret has lower-case"},
		{"Extension", "Secret length", key(spec{"name": long(253), "key": "b"}, nil), key(spec{"name": long(254), "key": "b"}, nil), "253"},
		{"Extension", "Secret given", key(spec{"name": "a", "key": "b"}, nil), key(spec{"key": "b"}, nil), "Required"},
		{"Extension", "entry not empty", key(spec{"name": "a", "key": "b"}, nil), key(spec{"name": "a", "key": ""}, nil), "key"},
		{"Extension", "entry length", key(spec{"name": "a", "key": long(253)}, nil), key(spec{"name": "a", "key": long(254)}, nil), "253"},
		{"Extension", "activation", key(spec{"name": "a", "key": "b"}, "2030-01-01T00:00:00+02:00"), key(spec{"name": "a", "key": "b"}, "tomorrow"), "date-time"},

		{"Extension", "origin", origin("*", "https://a.example", "http://a.example:8080", "https://localhost:*"), origin("https://a.example/"), "an origin is '*'"},
		{"Extension", "origin's scheme", origin("http://a.example"), origin("a.example"), "such as https://example.com"},
		{"Extension", "origin's case", origin("https://a.example"), origin("https://A.example"), "allowedOrigins"},
		{"Extension", "origin's host", origin("https://a"), origin("https://:8443"), "allowedOrigins"},
		{"Extension", "origin's port", origin("https://a:80", "http://a:443"), origin("https://a:443"), "leaves out the port"},
		{"Extension", "origin's address", origin("http://[::1]:3000", "http://127.0.0.1"), origin("http://[:::1]"), "IPv6"},
		{"Extension", "origin's length", origin("https://" + long(504)), origin("https://" + long(505)), "512"},
		{"Extension", "origin twice", origin("https://a", "https://b"), origin("https://a", "https://a"), "Duplicate"},
		{"Extension", "origins", origin(texts(64, "https://a#")...), origin(texts(65, "https://a#")...), "64"},

		{"Extension", "sink's URL", hook("http://a.example:8080/b?c"), hook("ftp://a.example"), "must be an http or https URL"},
		{"Extension", "sink's password", hook("https://[::1]/a@b"), hook("https://a:b@c.example"), "without user, password"},
		{"Extension", "sink's fragment", hook("https://a"), hook("https://a/#b"), "url"},
		{"Extension", "sink's host", hook("https://a?b"), hook("https://a b"), "must be an http or https URL"},
		{"Extension", "sink's keys", hook("https://a"), sinks(spec{"name": "a", "webhook": spec{"url": "https://a", "keys": []any{}}}), "keys"},
		{"Extension", "sink's equal keys", hook("https://a"), sinks(spec{"name": "a", "webhook": spec{"url": "https://a", "keys": append(keys(1), keys(1)...)}}), "keys must name different entries of Secrets"},
		{"Extension", "sink's kind", hook("https://a"), sinks(spec{"name": "a"}), "exactly one of webhook and pubsub"},
		{"Extension", "sink's name", sinks(sink("a-1", "https://a")), sinks(sink("A", "https://a")), "the name of a sink has lower-case letters"},
		{"Extension", "sinks' names", sinks(sink("a", "https://a"), sink("b", "https://a")), sinks(sink("a", "https://a"), sink("a", "https://b")), "Duplicate"},

		{"Extension", "identity rate", rate("identityRate", 0, 1), rate("identityRate", -1, 1), "perSecond"},
		{"Extension", "identity burst", rate("identityRate", 1, 1), rate("identityRate", 1, 0), "burst"},
		{"Extension", "extension rate", rate("extensionRate", 0, 1), rate("extensionRate", -1, 1), "perSecond"},
		{"Extension", "extension burst", rate("extensionRate", 1, 1), rate("extensionRate", 1, 0), "burst"},
		{"Extension", "message rate", rate("messageRate", 0, 1), rate("messageRate", -1, 1), "perSecond"},
	}
	for limit, most := range map[string]int{"documentBytes": 1 << 20, "bodyBytes": 64 << 20, "adminMapBytes": 64 << 20, "accumulationEntryBytes": 1 << 20} {
		limits := func(n int) spec { return spec{"limits": spec{limit: n}} }
		all = append(all,
			rule{"Extension", limit + " low", limits(1), limits(0), limit},
			rule{"Extension", limit + " high", limits(most), limits(most + 1), limit})
	}
	for _, kind := range []string{"logs", "buffers", "rankings", "snapshots"} {
		kept := func(d string) spec { return spec{"retention": spec{kind: d}} }
		all = append(all,
			rule{"Extension", kind + " low", kept("1h"), kept("59m59s"), "from 1h to 87600h"},
			rule{"Extension", kind + " for ever", kept("0s"), kept("-1h"), "from 1h to 87600h"},
			rule{"Extension", kind + " high", kept("87600h"), kept("87600h1s"), "from 1h to 87600h"},
			rule{"Extension", kind + " duration", kept("90h30m"), kept("30d"), kind + " must be 0s or from 1h to 87600h, in hours"},
			rule{"Extension", kind + " without digits", kept("1.5h"), kept(".h"), kind + " must be 0s or from 1h to 87600h, in hours"})
	}
	return all
}

func viewerRules() []rule {
	issuers := func(n int, members spec) spec {
		v := spec{"issuer": "https://id.example", "audience": "votes", "channels": texts(1, "1")}
		maps.Copy(v, members)
		return spec{"viewerIssuers": slices.Repeat([]any{v}, n)}
	}
	issuer := func(field string, value any) spec { return issuers(1, spec{field: value}) }
	ref := spec{"name": "a", "key": "b"}
	return []rule{
		{"Extension", "issuers of viewers", issuers(8, nil), issuers(9, nil), "8"},
		{"Extension", "viewers' issuer", issuer("issuer", "http://127.0.0.1:5556/dex"), issuer("issuer", "id.example"), "must be an http or https URL"},
		{"Extension", "viewers' audience", issuer("audience", "v"), issuer("audience", ""), "audience"},
		{"Extension", "viewers' audience length", issuer("audience", long(256)), issuer("audience", long(257)), "256"},
		{"Extension", "viewers' channel", issuer("channels", texts(1, "a.B-9_")), issuer("channels", texts(1, "a/b")), "an id has only letters"},
		{"Extension", "viewers' channel length", issuer("channels", texts(1, long(128))), issuer("channels", texts(1, long(129))), "128"},
		{"Extension", "viewers of a channel", issuer("channels", texts(1, "#")), issuer("channels", texts(0, "#")), "channels"},
		{"Extension", "viewers of a channel twice", issuer("channels", texts(2, "#")), issuer("channels", texts(2, "1")), "Duplicate"},
		{"Extension", "viewers of channels", issuer("channels", texts(256, "#")), issuer("channels", texts(257, "#")), "256"},
		{"Extension", "viewers' redirect URL", issuer("redirectURL", "https://a.example/v1/viewer/callback"), issuer("redirectURL", "javascript:alert(1)"), "must be an http or https URL"},
		{"Extension", "name of the viewers' issuer", issuer("name", long(64)), issuer("name", long(65)), "64"},
		{"Extension", "secret of the viewers' client", issuers(1, spec{"redirectURL": "https://a.example", "clientSecretRef": ref}), issuer("clientSecretRef", ref), "clientSecretRef needs redirectURL"},
	}
}

// inSandbox returns the same rules for the sandbox.
func inSandbox(rules []rule) []rule {
	all := slices.Clone(rules)
	for i, r := range all {
		all[i] = rule{r.kind, "sandbox " + r.name, spec{"sandbox": r.good}, spec{"sandbox": r.bad}, r.message}
	}
	return all
}

func long(n int) string { return strings.Repeat("a", n) }
