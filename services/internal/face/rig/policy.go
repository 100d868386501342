package rig

import (
	"fmt"
	"net/url"
	"strings"
)

// Domains are the allow-lists of an extension's version: what its pages may load and ask.
type Domains struct {
	Image, Media, Fetch []string
}

// Check refuses what is not an origin, such as https://example.org, and so would change the
// policy.
func (d Domains) Check() error {
	for _, list := range [][]string{d.Image, d.Media, d.Fetch} {
		for _, domain := range list {
			u, err := url.Parse(domain)
			if err != nil || u.Scheme == "" || u.Host == "" || strings.ContainsAny(domain, " ;,'\"") {
				return fmt.Errorf("%q is not an address such as https://example.org", domain)
			}
		}
	}
	return nil
}

// policy returns the content security policy of the extension's files. It is that of the
// platform, with the page in place of the platform's and the program among what may be asked and shown.
func (d Domains) policy(page, api string) string {
	const analytics = " https://*.google-analytics.com https://www.googletagmanager.com"
	list := func(domains []string) string { return strings.Join(append([]string{""}, domains...), " ") }
	return "default-src 'self'; script-src 'self'" + analytics +
		"; style-src 'self' 'unsafe-inline' https://fonts.googleapis.com" +
		"; font-src 'self' https://fonts.googleapis.com https://fonts.gstatic.com" +
		"; img-src 'self' data: blob: https://static-cdn.jtvnw.net" + analytics + " " + api + list(d.Image) +
		"; media-src 'self' data: blob:" + list(d.Media) +
		"; connect-src 'self' https://api.twitch.tv wss://pubsub-edge.twitch.tv https://stats.g.doubleclick.net" + analytics + " " + api + list(d.Fetch) +
		"; frame-ancestors " + page
}
