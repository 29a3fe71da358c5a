//! Checks the dependencies of the crate's modules in the source text. The building blocks of
//! operations do not depend on an operation, and an operation does not know the set of all sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules from which operations are built.
const LEAVES: [&str; 7] = [
    "answer",
    "call",
    "context",
    "reply",
    "snapshots",
    "source_report",
    "sources",
];

/// For each module of the crate's root, the other such modules that it names.
struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    fn read() -> Self {
        let root = source().join("lib.rs");
        let lib = code(&fs::read_to_string(root).unwrap());
        let declared = lib
            .lines()
            .filter_map(|line| line.trim_end_matches(';').rsplit_once("mod "));
        let modules: BTreeSet<String> = declared.map(|(_, name)| name.to_owned()).collect();
        let exported = exports(&lib);
        let names = |module: &String| {
            let mut named = named(&text_of(module), &modules, &exported);
            named.remove(module);
            (module.clone(), named)
        };
        Self(modules.iter().map(names).collect())
    }

    /// Every module that `module` names, directly or through others.
    fn reached(&self, module: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module.to_owned()];
        while let Some(next) = open.pop() {
            for name in &self.0[&next] {
                if reached.insert(name.clone()) {
                    open.push(name.clone());
                }
            }
        }
        reached
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Lists every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    files.collect()
}

/// The code of a module and of its submodules.
fn text_of(module: &str) -> String {
    let mut paths = files(&source().join(module));
    paths.push(source().join(format!("{module}.rs")));
    let texts = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .map(|path| code(&fs::read_to_string(path).unwrap()));
    texts.collect()
}

/// Removes the comments of a text.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with("//") => "\n".to_owned(),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// The items that the crate's root exports, each with its module.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let paths = lib.split("pub use ").skip(1);
    let paths = paths.filter_map(|rest| rest.split_once(';')?.0.split_once("::"));
    let items = paths.flat_map(|(module, items)| {
        let items = items.trim_matches(['{', '}']).split(',').map(str::trim);
        let items = items.filter(|item| !item.is_empty());
        items.map(|item| (item.to_owned(), module.to_owned()))
    });
    items.collect()
}

/// The modules of the crate's root that a text names, as `crate::` or `super::` paths.
fn named(
    text: &str,
    modules: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let first = |path: &str| {
        let name: String = path
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let module = exported.get(&name).unwrap_or(&name);
        modules.contains(module).then(|| module.clone())
    };
    let paths = ["crate::", "super::"].map(|prefix| text.split(prefix).skip(1));
    let each = paths.into_iter().flatten().flat_map(|rest| {
        let group = rest.strip_prefix('{');
        let list = group.map(|group| group.split_once("};").map_or(group, |(list, _)| list));
        match list {
            Some(list) => list.split(',').filter_map(first).collect(),
            None => Vec::from_iter(first(rest)),
        }
    });
    each.collect()
}

#[test]
fn building_blocks_of_operations_know_no_operation_and_form_no_circle() {
    let graph = Graph::read();
    for leaf in LEAVES {
        let reached = graph.reached(leaf);
        assert!(!reached.contains("operations"), "{leaf}: {reached:?}");
        assert!(
            !reached.contains(leaf),
            "{leaf} is in a circle: {reached:?}"
        );
    }
    // This shows that the search finds dependencies: operations reach all building blocks.
    let reached = graph.reached("operations");
    assert!(
        LEAVES.iter().all(|leaf| reached.contains(*leaf)),
        "{reached:?}"
    );
}

#[test]
fn an_answer_does_not_know_where_its_data_is_from() {
    let graph = Graph::read();
    for leaf in ["answer", "call", "context", "reply", "source_report"] {
        assert!(!graph.reached(leaf).contains("sources"), "{leaf}");
    }
}

#[test]
fn an_operation_is_given_the_sources_that_it_reads() {
    for path in files(&source().join("operations")) {
        let text = code(&fs::read_to_string(&path).unwrap());
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        assert!(!words.any(|word| word == "Sources"), "{}", path.display());
    }
}

/// A provider of keys without its policy would sign anything.
#[test]
fn keys_of_wallets_are_reached_through_the_policy_only() {
    let opens = |path: &&PathBuf| {
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        let is_test = path.ends_with("tests.rs");
        is_code && !is_test && code(&fs::read_to_string(path).unwrap()).contains("LocalCustody")
    };
    let all = files(&source());
    let opened: BTreeSet<_> = all.iter().filter(opens).collect();
    // The demos make their folders and a wallet beside a server, and the operator's commands list
    // and rewrite files. Neither signs.
    let expected = [
        "serve/open.rs",
        "demo/fence/stage.rs",
        "demo/wallet/stage.rs",
        "wallets_cli.rs",
    ];
    let expected = expected.map(|file| source().join(file));
    assert_eq!(opened, expected.iter().collect());
    let [open, others @ ..] = expected.map(|path| code(&fs::read_to_string(path).unwrap()));
    assert!(open.contains("Arc::new(Guarded::new(bounded, policy))"));
    for other in others {
        assert!(
            !other.contains("lend(") && !other.contains("Subject::") && !other.contains(".sign(")
        );
    }
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let modules = ["observe", "operations", "page", "sources"].map(str::to_owned);
    let exported = exports("pub use sources::Sources;\npub use serve::{Parts, serve};\n");
    let seen = |text: &str| -> Vec<String> {
        let named = named(&code(text), &BTreeSet::from(modules.clone()), &exported);
        named.into_iter().collect()
    };
    assert_eq!(seen("use crate::operations::price;"), ["operations"]);
    assert_eq!(seen("let a = crate::operations::b();"), ["operations"]);
    assert_eq!(seen("use super::operations;"), ["operations"]);
    assert_eq!(seen("use crate::Sources;"), ["sources"]);
    assert_eq!(
        seen("use crate::{observe, page::{A, B}};"),
        ["observe", "page"]
    );
    assert_eq!(seen("// use crate::operations;\nuse other::page;"), [""; 0]);
}

/// A spawned task is charged to its call only when it carries the meter of the call.
#[test]
fn operations_carry_their_meter_into_every_task() {
    let operations = text_of("operations");
    let spawned: Vec<&str> = operations.split("spawn(").skip(1).collect();
    assert!(spawned.len() > 8, "{}", spawned.len());
    for task in spawned {
        let begin: String = task.chars().take(60).collect();
        assert!(begin.trim_start().starts_with("Meter::carry("), "{begin}");
    }
}
