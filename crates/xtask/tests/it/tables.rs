//! Tests of the list in `docs/OPERATIONS.md` of everything that the servers keep: it has every
//! table of every schema and no other, and the tests that it names exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The schemas: the folder of the migrations, and the files of which it is the schema. Without
/// files it is one of PostgreSQL.
const SCHEMAS: [(&str, &[&str]); 17] = [
    ("custody/src/records", &["service.custody.db"]),
    ("custody/src/records/postgres", &[]),
    ("fence-server/src/store", &["service.fence.db"]),
    ("fence-server/src/store/postgres", &[]),
    ("gas-funding/src/book", &["service.gas.db"]),
    ("gas-funding/src/book/postgres", &[]),
    ("ledger/src/postgres/schema", &[]),
    ("ledger/src/sqlite/schema", &["service.db"]),
    ("storage/src/postgres/instance", &[]),
    ("storage/src/store/postgres", &[]),
    ("storage/src/store/schema", &["service.store.db"]),
    (
        "tx-sender/src/store",
        &["service.sender.db", "service.fence-sender.db"],
    ),
    ("tx-sender/src/store/postgres", &[]),
    ("wallet-actions/src/store", &["service.wallets.db"]),
    ("wallet-actions/src/store/postgres", &[]),
    ("watch-server/src/store", &["service.watch.db"]),
    ("watch-server/src/store/postgres", &[]),
];

/// The row of the list for tables of PostgreSQL alone.
const ALL: &str = "all, in PostgreSQL";

type Tables = BTreeSet<(String, String)>;

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The migrations below a folder, by their folder, in the order of their names.
fn migrations(folder: &Path, found: &mut BTreeMap<String, Vec<String>>) {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("tests") {
            migrations(&path, found);
        } else if path.extension().is_some_and(|it| it == "sql") {
            let of = folder.strip_prefix(crates()).unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            found.entry(of.to_owned()).or_default().push(text);
        }
    }
}

/// The tables after these migrations.
fn tables(migrations: &[String]) -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    for line in migrations.iter().flat_map(|text| text.lines()) {
        let name = |rest: &str| {
            let rest = rest.trim_start_matches("IF NOT EXISTS ");
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            rest.split(|c| !is_part(c)).next().unwrap().to_owned()
        };
        if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
            assert!(tables.insert(name(rest)), "{line}");
        } else if let Some(rest) = line.strip_prefix("DROP TABLE ") {
            assert!(tables.remove(&name(rest)), "{line}");
        } else {
            assert!(!line.contains("RENAME TO"), "{line}");
        }
    }
    tables
}

/// The tables of the schemas: those of SQLite with their file, the others without one.
fn of_the_schemas() -> Tables {
    let mut found = BTreeMap::new();
    migrations(crates(), &mut found);
    let known = SCHEMAS.map(|(folder, _)| folder);
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        known.iter().collect::<Vec<_>>()
    );
    let mut all = Tables::new();
    for (folder, files) in SCHEMAS {
        for table in tables(&found[folder]) {
            for file in files {
                all.insert(((*file).to_owned(), table.clone()));
            }
            if files.is_empty() {
                all.insert((String::new(), table));
            }
        }
    }
    // The code makes this one, because it has the versions of the migrations.
    all.insert((String::new(), "schema_version".to_owned()));
    all
}

/// The section of the list.
fn section() -> String {
    let path = crates().parent().unwrap().join("docs/OPERATIONS.md");
    let page = fs::read_to_string(path).unwrap();
    let title = "\n## Who bounds the rows of each table\n";
    let (_, section) = page.split_once(title).unwrap();
    section.split_once("\n## ").unwrap().0.to_owned()
}

/// The tables of the list. One whose name does not have the prefix of a component in PostgreSQL
/// belongs to the file of its row or of a row above.
fn of_the_list(in_postgres: &BTreeSet<String>) -> Tables {
    let list = section();
    let mut listed = Tables::new();
    let mut file = "";
    for line in list.lines().filter_map(|line| line.strip_prefix('|')) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        match cells[0].trim_matches('`') {
            "" => {}
            other => file = other,
        }
        // What follows the names is in other words.
        let names = cells[1].split([':', '(']).next().unwrap();
        for name in names.split('`').skip(1).step_by(2) {
            let is_shared = in_postgres.contains(name);
            if is_shared {
                listed.insert((String::new(), name.to_owned()));
            }
            if file != ALL && (!is_shared || name == "custody_wallet") {
                listed.insert((file.to_owned(), name.to_owned()));
            }
        }
    }
    listed
}

#[test]
fn the_list_of_tables_is_that_of_the_schemas() {
    let schemas = of_the_schemas();
    let in_postgres = schemas.iter().filter(|(file, _)| file.is_empty());
    let in_postgres = in_postgres.map(|(_, table)| table.clone()).collect();
    let listed = of_the_list(&in_postgres);
    let missing: Vec<_> = schemas.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&schemas).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not in the list: {missing:?}; in no schema: {unknown:?}"
    );
}

#[test]
fn the_tests_of_the_bounds_exist() {
    let section = section();
    let cited = section.lines().filter_map(|line| line.strip_prefix("- `"));
    let mut count = 0;
    for cited in cited {
        let (file, test) = cited.trim_end_matches('`').split_once("::").unwrap();
        let text = fs::read_to_string(crates().parent().unwrap().join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}(")), "{cited}");
        count += 1;
    }
    assert!(count > 15, "{count}");
}
