//! Validators of other projects accept the OpenAPI document.

use judges::judge;
use serde::Deserialize;
use serde_json::Value;

use crate::world::World;

#[derive(Deserialize)]
struct Verdict {
    valid: bool,
    #[serde(default)]
    version: Option<String>,
    errors: Value,
}

#[tokio::test]
async fn the_openapi_document_is_valid() {
    let world = World::start().await;
    let answer = world
        .http
        .get(world.service.url("/openapi.json"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let document: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();

    let node = world.toolchain.node("validate-openapi.mjs");
    let verdict: Verdict = judge(node, &document).await.unwrap();
    assert!(verdict.valid, "{:#}", verdict.errors);
    assert_eq!(verdict.version.as_deref(), Some("3.1"));

    let python = world.toolchain.python_x402("validate_openapi.py");
    let verdict: Verdict = judge(python, &document).await.unwrap();
    assert!(verdict.valid, "{:#}", verdict.errors);
    world.stop().await;
}
