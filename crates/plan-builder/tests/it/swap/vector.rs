//! Checks `fixtures/vectors/swap/plan.json` byte for byte: a request, the calldata of a quote, and
//! the plan that follows. With it, digests can be recomputed in any language.

use std::path::Path;

use plan_builder::Request;
use serde_json::{Value, json};

use crate::swap::sample::{NOW, arguments, parse, sealed, verified};

#[test]
fn the_recorded_plan_is_the_one_that_is_built() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/swap/plan.json");
    let sealed = sealed();
    let request = Request::Swap(parse(&arguments()).unwrap());
    let vector = json!({
        "arguments": arguments(),
        "intent_digest": request.intent_digest().unwrap(),
        "now": calldata_checks::UtcSeconds::from_unix(NOW).to_string(),
        "payload_digest": sealed.payload_digest(),
        "plan": serde_json::from_str::<Value>(sealed.json()).unwrap(),
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&vector).unwrap());
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text);
    verified(&vector["plan"].to_string()).unwrap();
}
