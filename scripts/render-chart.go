// Renders a chart as `helm template` does, where Helm is not installed: with Go's own templates and Sprig, the library
// that Helm takes its functions from. It reads {chart, values, release} as JSON and writes one YAML stream. Needs the
// Debian packages golang-go and golang-github-masterminds-sprig-dev:
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go build -o render scripts/render-chart.go
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v2"
)

type input struct {
	Chart   string
	Values  map[string]any
	Release map[string]any
}

type files struct{ folder string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	check(err)
	return string(text)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func toYaml(value any) string {
	text, err := yaml.Marshal(value)
	check(err)
	return strings.TrimSuffix(string(text), "\n")
}

func main() {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	chart := map[string]any{}
	text, err := os.ReadFile(filepath.Join(in.Chart, "Chart.yaml"))
	check(err)
	check(yaml.Unmarshal(text, &chart))
	named := map[string]any{}
	for key, value := range chart {
		named[strings.ToUpper(key[:1])+key[1:]] = value
	}
	top := map[string]any{"Values": in.Values, "Release": in.Release, "Chart": named, "Files": files{in.Chart}}

	all := template.New("chart").Option("missingkey=zero")
	render := func(name string, data any) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return strings.ReplaceAll(out.String(), "<no value>", ""), err
	}
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = render
	functions["toYaml"] = toYaml
	functions["required"] = func(message string, value any) (any, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["tpl"] = func(text string, data any) (string, error) {
		clone, err := all.Clone()
		if err != nil {
			return "", err
		}
		parsed, err := clone.New("tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		err = parsed.Execute(&out, data)
		return out.String(), err
	}
	all.Funcs(functions)

	names, err := filepath.Glob(filepath.Join(in.Chart, "templates", "*"))
	check(err)
	sort.Strings(names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		check(err)
		_, err = all.New(filepath.Base(name)).Parse(string(text))
		check(err)
	}
	for _, name := range names {
		base := filepath.Base(name)
		out, err := render(base, top)
		check(err)
		if strings.HasSuffix(base, ".yaml") && strings.TrimSpace(out) != "" {
			fmt.Printf("---\n%s\n", strings.TrimSpace(out))
		}
	}
}
