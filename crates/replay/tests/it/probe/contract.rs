//! Tests that change every member of every recorded answer, one at a time, and run the real
//! adapters on the result. Dropping and retyping show which members a reading needs: `forms.json`
//! keeps that for the probe, which names changed members by it. `UPDATE_FORMS=1` writes the file
//! again.

use std::collections::BTreeMap;
use std::path::Path;

use data_sources::{
    probe::{
        Exchange, Form, Kind, Member, ProbeReading, ProbeResult, Row, Shape, State, form_key, rows,
    },
    transport::Transport,
};
use replay::{Recordings, ReplayServer};
use serde_json::Value;
use wiremock::MockServer;

use super::{
    difference::{all_reviewed, is_at, news, reviewed},
    mutation::{Mutation, mutated},
    script::Script,
    world::{World, now},
};

/// The effect of one changed answer: the reading, and the rows of the probe.
struct Outcome {
    answer: Option<ProbeReading>,
    rows: Vec<Row>,
}

/// A scripted server, and the client of the adapters.
struct Bench {
    script: Script,
    server: MockServer,
    transport: Transport,
}

impl Bench {
    async fn new() -> Self {
        let script = Script::default();
        let server = script.serve().await;
        Self {
            script,
            server,
            transport: Transport::new().unwrap(),
        }
    }

    async fn run(
        &self,
        place: (usize, usize),
        result: &ProbeResult,
        at: usize,
        body: &Value,
    ) -> Outcome {
        self.script.set(&result.exchanges, at, &body.to_string());
        let world = World::new(&self.transport, &self.server.uri());
        let adapters = world.adapters();
        let question = adapters[place.0]
            .questions()
            .into_iter()
            .nth(place.1)
            .unwrap();
        let told = question.ask().await;
        Outcome {
            rows: rows(&told, now()),
            answer: told.answer,
        }
    }
}

/// The form of each exchange, and the mutations that make a reading say something new.
#[derive(Default)]
struct Found {
    forms: BTreeMap<String, Form>,
    wrong: BTreeMap<(String, String), Vec<String>>,
}

/// Asks every question of every adapter. Each question gets new adapters, so that no cache answers
/// it.
async fn results() -> Vec<((usize, usize), ProbeResult)> {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let transport = Transport::new().unwrap();
    let counts: Vec<usize> = {
        let world = World::new(&transport, &replay.url());
        world
            .adapters()
            .iter()
            .map(|adapter| adapter.questions().len())
            .collect()
    };
    let mut all = Vec::new();
    for (index, count) in counts.into_iter().enumerate() {
        for place in 0..count {
            let world = World::new(&transport, &replay.url());
            let adapters = world.adapters();
            let question = adapters[index].questions().into_iter().nth(place).unwrap();
            all.push(((index, place), question.ask().await));
        }
    }
    all
}

fn json_of(exchange: &Exchange) -> Option<Value> {
    let reply = exchange
        .reply
        .as_ref()
        .filter(|reply| reply.status == 200)?;
    serde_json::from_slice(&reply.body).ok()
}

async fn examine(
    bench: &Bench,
    place: (usize, usize),
    result: &ProbeResult,
    at: usize,
    found: &mut Found,
) {
    let exchange = &result.exchanges[at];
    let Some(document) = json_of(exchange) else {
        return;
    };
    let base = bench.run(place, result, at, &document).await.answer;
    assert!(
        base.is_some(),
        "{} gives no reading of {:?}",
        form_key(exchange),
        result.sources
    );
    let name = form_key(exchange);
    let shape = Shape::of(&document);
    let mut form = Form::default();
    for (path, recorded) in shape.members() {
        let below_unread = |unread: &String| {
            let below = path.strip_prefix(unread.as_str());
            below.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        if form.unread.iter().any(below_unread) {
            continue;
        }
        let mut member = Member {
            needed: false,
            kinds: recorded.clone(),
        };
        let is_element = path.ends_with("[]") || path == "$";
        let mut all = vec![
            Kind::Null,
            Kind::Flag,
            Kind::Object,
            Kind::Number,
            Kind::Text,
        ];
        all.retain(|kind| !recorded.contains(kind));
        let mut same = true;
        let mut news_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for mutation in all
            .iter()
            .map(|kind| Mutation::Retype(*kind))
            .chain([Mutation::Drop])
        {
            if is_element && mutation == Mutation::Drop {
                member.needed = !same;
                continue;
            }
            let changed = mutated(&document, path, mutation);
            let told = bench.run(place, result, at, &changed).await;
            let equal = told.answer.as_ref().map(|answer| &answer.text)
                == base.as_ref().map(|base| &base.text);
            match mutation {
                Mutation::Retype(kind) if equal => {
                    member.kinds.insert(kind);
                }
                Mutation::Drop if !equal => member.needed = true,
                _ => {}
            }
            same &= equal;
            if let (Some(told), Some(base)) = (&told.answer, &base) {
                let new = news(&base.text, &told.text);
                if !new.is_empty() {
                    let mutations = news_of.entry(new.join(" ")).or_default();
                    mutations.push(format!("{mutation:?}"));
                }
            }
        }
        for (new, mutations) in news_of {
            let told = format!("{}: {new}", mutations.join(", "));
            let place = (name.clone(), path.to_owned());
            found.wrong.entry(place).or_default().push(told);
        }
        if same {
            form.unread.insert(path.to_owned());
        } else {
            form.members.insert(path.to_owned(), member);
        }
    }
    let known = found.forms.entry(name).or_default();
    merge(known, form);
}

/// Merges the forms of two questions that ask the same endpoint. A member of both is needed only
/// when both readings need it, and may have every kind that one of them accepts.
fn merge(known: &mut Form, form: Form) {
    for (path, member) in form.members {
        known.unread.remove(&path);
        match known.members.get_mut(&path) {
            None => {
                known.members.insert(path, member);
            }
            Some(other) => {
                other.needed &= member.needed;
                other.kinds.extend(member.kinds);
            }
        }
    }
    let members = &known.members;
    known.unread.extend(
        form.unread
            .into_iter()
            .filter(|path| !members.contains_key(path)),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_forms_list_the_members_that_the_readings_need() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data-sources/src/probe/forms.json");
    let update = std::env::var_os("UPDATE_FORMS").is_some();
    let bench = Bench::new().await;
    let mut found = Found::default();
    for (place, result) in results().await {
        if result.answer.is_none() {
            eprintln!("no reading of {:?}", result.sources);
            continue;
        }
        for at in 0..result.exchanges.len() {
            examine(&bench, place, &result, at, &mut found).await;
        }
    }
    let text = serde_json::to_string_pretty(&found.forms).unwrap() + "\n";
    if update {
        std::fs::write(&file, &text).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap();
    assert!(
        known == text,
        "the forms have changed: run with UPDATE_FORMS=1 and look at the difference"
    );
    let unreviewed: Vec<String> = found
        .wrong
        .iter()
        .filter(|((name, path), _)| !reviewed(name, path))
        .map(|((name, path), new)| format!("{name} {path}: {}", new.join(" | ")))
        .collect();
    assert!(
        unreviewed.is_empty(),
        "read as something else:\n{}",
        unreviewed.join("\n")
    );
    for (source, at, why) in all_reviewed() {
        let mut all = found.wrong.keys();
        let used = all.any(|(name, path)| name.starts_with(source) && is_at(path, at));
        assert!(used, "{source} {at}: {why}: nothing needs this any more");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_changed_member_is_named_or_harmless() {
    let bench = Bench::new().await;
    let mut silent = Vec::new();
    for (place, result) in results().await {
        for at in 0..result.exchanges.len() {
            let exchange = &result.exchanges[at];
            let (Some(document), true) = (json_of(exchange), result.answer.is_some()) else {
                continue;
            };
            let base = bench
                .run(place, &result, at, &document)
                .await
                .answer
                .unwrap();
            let shape = Shape::of(&document);
            for (path, _) in shape.members() {
                let leaf = path.rsplit('.').next().unwrap_or_default();
                if path.ends_with("[]") || path == "$" || leaf == "*" {
                    continue;
                }
                let changed = mutated(&document, path, Mutation::Rename);
                let told = bench.run(place, &result, at, &changed).await;
                let harmless = told
                    .answer
                    .as_ref()
                    .is_some_and(|answer| answer.text == base.text);
                let row = told.rows.iter().find(|row| row.source == exchange.source);
                if !harmless && !row.is_some_and(|row| names(row, path)) {
                    silent.push(format!("{} {path}: {row:?}", form_key(exchange)));
                }
            }
        }
    }
    assert!(
        silent.is_empty(),
        "{} unnamed:\n{}",
        silent.len(),
        silent.join("\n")
    );
}

/// Whether a row reports a problem and names the member's path.
fn names(row: &Row, path: &str) -> bool {
    let at = |change: &data_sources::probe::Change| change.path == path;
    row.state >= State::Changed && row.changes.iter().any(at)
}
