//! Tests of the files of `docs/deploy` and of the Dockerfile: they can be parsed, and the files and
//! metrics that they name exist.
//!
//! `docs/OPERATIONS.md` lists the metrics. A test of `api-server` compares its table with the
//! program.

mod database;
mod proxy;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use saphyr::{LoadableYamlNode, Yaml};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Finds every file below a folder whose name has one of these endings, without built files.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut open = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("target") && !path.ends_with("node_modules") {
                    open.push(path);
                }
            } else if endings
                .iter()
                .any(|it| path.extension().is_some_and(|e| e == *it))
            {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{folder}");
    found
}

/// Returns the names of metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c))
        .filter(|word| word.starts_with("svc_"))
        .collect()
}

/// Returns the names of metrics in the first column of a document's tables.
fn documented() -> BTreeSet<String> {
    let page = read("docs/OPERATIONS.md");
    let first = page.lines().filter_map(|line| line.strip_prefix("| "));
    let first = first.filter_map(|line| line.split(" | ").next());
    first.flat_map(metrics_in).map(str::to_owned).collect()
}

/// Returns the rules of each group in the alerts.
fn rules<'a>(alerts: &'a Yaml<'a>) -> impl Iterator<Item = &'a Yaml<'a>> {
    let groups = alerts["groups"].as_sequence().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_sequence().unwrap())
}

#[test]
fn every_metric_of_the_alerts_and_of_the_dashboard_exists() {
    let known = documented();
    assert!(known.len() > 30, "{known:?}");
    let alerts = read("docs/deploy/prometheus/alerts.yml");
    let dashboard = read("docs/deploy/grafana/dashboard.json");
    for (file, text) in [("alerts.yml", &alerts), ("dashboard.json", &dashboard)] {
        let named = metrics_in(text);
        assert!(named.len() > 15, "{file}: {named:?}");
        for name in named {
            // A histogram is scraped as three series.
            let of = ["_bucket", "_count", "_sum"].map(|end| name.strip_suffix(end));
            let exists = known.contains(name)
                || of
                    .iter()
                    .flatten()
                    .any(|name| name.ends_with("_seconds") && known.contains(*name));
            assert!(exists, "{file}: there is no metric {name}");
        }
    }
}

#[test]
fn every_yaml_and_json_file_parses() {
    for path in files("docs/deploy", &["yml", "yaml"]) {
        let text = fs::read_to_string(&path).unwrap();
        let parsed = Yaml::load_from_str(&text);
        let documents = parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(documents.len(), 1, "{}", path.display());
    }
    for path in files("docs/deploy", &["json"]) {
        let text = fs::read_to_string(&path).unwrap();
        let parsed = serde_json::from_str::<Value>(&text);
        assert!(parsed.is_ok(), "{}: {parsed:?}", path.display());
    }
}

#[test]
fn every_alert_states_an_action() {
    let text = read("docs/deploy/prometheus/alerts.yml");
    let documents = Yaml::load_from_str(&text).unwrap();
    let mut names = BTreeSet::new();
    for rule in rules(&documents[0]) {
        let name = rule["alert"].as_str().unwrap();
        assert!(names.insert(name), "{name} is there twice");
        assert!(rule["expr"].as_str().is_some(), "{name}: expr");
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(
            ["critical", "warning"].contains(&severity),
            "{name}: {severity}"
        );
        for sentence in ["summary", "action"] {
            let sentence = rule["annotations"][sentence].as_str().unwrap();
            assert!(sentence.ends_with('.'), "{name}: {sentence}");
        }
    }
    assert!(names.len() > 20, "{names:?}");
}

#[test]
fn every_panel_has_an_expression_and_a_place_of_its_own() {
    let dashboard: Value =
        serde_json::from_str(&read("docs/deploy/grafana/dashboard.json")).unwrap();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        if panel["type"] != "row" {
            let targets = panel["targets"].as_array().unwrap();
            assert!(!targets.is_empty(), "{panel}");
            assert!(targets.iter().all(|it| it["expr"].is_string()), "{panel}");
        }
    }
    assert!(ids.len() > 20, "{ids:?}");
}

#[test]
fn the_composition_pins_images_mounts_existing_files_and_holds_no_secret() {
    let text = read("docs/deploy/compose.yaml");
    let documents = Yaml::load_from_str(&text).unwrap();
    let example = read("docs/deploy/example.env");
    let asked: BTreeSet<&str> = text
        .split("${")
        .skip(1)
        .filter_map(|it| it.split(":?}").next())
        .collect();
    for (name, service) in documents[0]["services"].as_mapping().unwrap() {
        let name = name.as_str().unwrap();
        if service.as_mapping_get("image").is_none() {
            continue;
        }
        let image = service["image"].as_str().unwrap();
        assert_eq!(
            service["logging"]["driver"].as_str(),
            Some("local"),
            "{name}"
        );
        let is_own = image.starts_with("api-server:");
        assert!(is_own || is_pinned(image), "{name}: {image}");
        for volume in service["volumes"].as_sequence().unwrap() {
            let source = volume.as_str().unwrap().split(':').next().unwrap();
            // The operator creates the folder of the backups.
            if source.starts_with("./") && source != "./backup" {
                let path = root().join("docs/deploy").join(source);
                assert!(path.exists(), "{name}: {source}");
            }
        }
    }
    // An operator who forgets to replace a given value would use it.
    let given = example.lines().filter(|line| !line.starts_with('#'));
    let given = given.filter(|line| !line.is_empty() && !line.ends_with('='));
    assert_eq!(given.collect::<Vec<_>>(), ["VERSION=0.1.0"]);
    for name in asked
        .iter()
        .filter(|name| !name.contains(|c| !matches!(c, 'A'..='Z' | '_')))
    {
        let line = format!("{name}=");
        assert!(
            example.lines().any(|it| it.starts_with(&line)),
            "example.env has no {name}"
        );
    }
    assert!(asked.contains("POSTGRES_PASSWORD"), "{asked:?}");
    for line in text.lines().filter(|line| line.contains("PASSWORD")) {
        let has_secret =
            line.contains("PASSWORD") && !line.contains("${") && !line.trim().starts_with('#');
        assert!(!has_secret, "{line}");
    }
}

/// When one instance is gone, the other one completes its transactions, so both need the key.
#[test]
fn both_instances_have_the_same_gas_key() {
    let text = read("docs/deploy/compose.yaml");
    let documents = Yaml::load_from_str(&text).unwrap();
    for name in ["api-1", "api-2"] {
        let key = &documents[0]["services"][name]["secrets"][0];
        assert_eq!(key.as_str(), Some("gas_key"), "{name}");
    }
    let file = documents[0]["secrets"]["gas_key"]["file"].as_str();
    assert_eq!(file, Some("./secrets/gas_key"));
}

/// Whether an image's tag begins with a full version.
fn is_pinned(image: &str) -> bool {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let version = tag
        .trim_start_matches('v')
        .split('-')
        .next()
        .unwrap_or_default();
    let numbers: Vec<_> = version.split('.').map(str::parse::<u32>).collect();
    numbers.len() >= 2 && numbers.iter().all(Result::is_ok)
}

/// Returns the instructions of the Dockerfile, each as its words.
fn instructions() -> Vec<Vec<String>> {
    let text = read("Dockerfile").replace("\\\n", " ");
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

/// Returns the paths that the Dockerfile copies from the repository.
fn copied() -> BTreeSet<String> {
    let instructions = instructions();
    let copies = instructions
        .iter()
        .filter(|it| it[0] == "COPY" && !it[1].starts_with("--"));
    copies.flat_map(|it| it[1..it.len() - 1].to_vec()).collect()
}

#[test]
fn the_dockerfile_copies_existing_files_and_ends_as_an_ordinary_user() {
    for path in copied() {
        assert!(root().join(&path).exists(), "Dockerfile: {path}");
    }
    let mut stages: Vec<String> = Vec::new();
    let mut user = None;
    let mut servers = 0;
    for words in instructions() {
        match words[0].as_str() {
            "FROM" => {
                let known = stages.contains(&words[1]);
                assert!(known || is_pinned(&words[1]), "{words:?}");
                stages.push(words[3].clone());
                user = None;
            }
            "USER" => user = Some(words[1].clone()),
            "ENTRYPOINT" => {
                let user: u32 = user.as_deref().unwrap_or("0").parse().unwrap();
                assert_ne!(user, 0, "{words:?} runs as root");
                servers += 1;
            }
            _ => {}
        }
    }
    assert_eq!(servers, 2);
}

#[test]
fn the_dockerfile_builds_the_servers_as_they_are_shipped() {
    let lines: Vec<String> = instructions().iter().map(|it| it.join(" ")).collect();
    for name in ["api-server", "mcp-server"] {
        let build = "cargo build --profile dist --no-default-features --locked";
        let built = format!("RUN {build} -p {name}");
        let program = format!("/src/target/dist/{name} /usr/local/bin/{name}");
        let copied = format!("COPY --from=build-{name} {program}");
        for line in [built, copied] {
            assert!(lines.contains(&line), "the Dockerfile lacks: {line}");
        }
    }
}

/// A source that includes a file which the image lacks can be compiled here, but not in the image.
#[test]
fn the_dockerfile_copies_every_file_that_a_source_includes() {
    let copied = copied();
    let ignored = read(".dockerignore");
    for source in ["bins", "crates"].map(|it| files(it, &["rs"])).concat() {
        let text = fs::read_to_string(&source).unwrap();
        let included = ["include_str!(\"", "include_bytes!(\""]
            .iter()
            .flat_map(|mark| text.split(mark).skip(1))
            .filter_map(|rest| rest.split('"').next());
        for name in included.filter(|name| name.starts_with("..")) {
            let path = resolved(&source.with_file_name(name));
            let Ok(path) = path.strip_prefix(root()) else {
                continue;
            };
            let is_copied = copied.iter().any(|it| path.starts_with(it));
            let source = source.display();
            assert!(is_copied, "{source} includes {}", path.display());
            let is_ignored = ignored.lines().any(|it| path.starts_with(it));
            assert!(!is_ignored, "{source} includes {}", path.display());
        }
    }
}

/// Returns the path without `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}

/// Builds both images. It runs only on request, also where a Docker daemon runs: two release builds
/// would take longer than all other tests together.
#[test]
fn the_images_build() {
    if std::env::var_os("TEST_DOCKER_BUILD").is_none() {
        return;
    }
    for target in ["api-server", "mcp-server"] {
        let status = Command::new("docker")
            .current_dir(root())
            .args(["build", "--target", target, "."])
            .status()
            .unwrap();
        assert!(status.success(), "{target}");
    }
}

#[test]
fn the_units_give_the_servers_time_to_end_and_no_privileges() {
    for name in ["api-server", "mcp-server"] {
        let unit = read(&format!("docs/deploy/systemd/{name}.service"));
        for line in [
            "DynamicUser=yes",
            "NoNewPrivileges=yes",
            "ProtectSystem=strict",
            "Restart=on-failure",
            "KillSignal=SIGTERM",
        ] {
            assert!(unit.lines().any(|it| it == line), "{name}: {line}");
        }
        assert!(unit.contains(&format!("ExecStart=/usr/local/bin/{name} serve ")));
    }
    let config: toml::Table = read("docs/deploy/config/api-server.toml").parse().unwrap();
    let seconds = |key: &str| config["server"][key].as_integer().unwrap();
    let least = seconds("drain_seconds") + seconds("shutdown_grace_seconds");
    let patience = |text: &str, before: &str| -> i64 {
        let rest = text.split_once(before).unwrap().1;
        rest.split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let unit = read("docs/deploy/systemd/api-server.service");
    assert!(patience(&unit, "TimeoutStopSec=") > least);
    let compose = read("docs/deploy/compose.yaml");
    assert!(patience(&compose, "stop_grace_period: ") > least);
    // A planned restart must not raise the alarm.
    let alerts = read("docs/deploy/prometheus/alerts.yml");
    let alerts = Yaml::load_from_str(&alerts).unwrap();
    let down = rules(&alerts[0]).find(|rule| rule["alert"].as_str() == Some("InstanceDown"));
    let minutes = down.unwrap()["for"].as_str().unwrap().strip_suffix('m');
    assert!(60 * minutes.unwrap().parse::<i64>().unwrap() > least + 30);
}
