package example

import "net/http"

var feeds = map[string]string{"news": "https://feeds.example.com/news.xml"}

func preview(w http.ResponseWriter, r *http.Request) {
	target := r.FormValue("url")
	// ruleid: go-ssrf
	page, err := http.Get(target)
	relay(w, page, err)
}

func status(w http.ResponseWriter, r *http.Request) {
	// ruleid: go-ssrf
	request, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://"+r.FormValue("host"), nil)
	page, err := http.DefaultClient.Do(request)
	relay(w, page, err)
}

func feed(w http.ResponseWriter, r *http.Request) {
	target, known := feeds[r.FormValue("feed")]
	if !known {
		http.NotFound(w, r)
		return
	}
	// ok: go-ssrf
	page, err := http.Get(target)
	relay(w, page, err)
}

func user(w http.ResponseWriter, r *http.Request) {
	// ok: go-ssrf
	page, err := http.Get("https://users.example.com/" + r.FormValue("name"))
	relay(w, page, err)
}
