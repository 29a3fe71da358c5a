//! Tests that prompts stay out of the log. The test reads the log of a whole process, so it runs in
//! a process without other tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    dead_code,
    unreachable_pub,
    unused_crate_dependencies,
    reason = "test code"
)]

#[path = "it/routes/shop.rs"]
mod shop;
#[path = "it/support.rs"]
mod support;

use std::io;
use std::sync::{Arc, Mutex};

use crate::shop::Shop;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The prompt is in the address of the request. The test reads everything that this process logs
/// down to `debug`, because other threads write some of the lines.
#[tokio::test]
async fn prompts_do_not_reach_the_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let secret = "Rumpelstiltskin";

    let shop = Shop::open().await;
    for route in ["generate-meme", "llm-research"] {
        let target = format!("/{route}?prompt={secret}");
        shop.world.buyer.get(&target).await;
        shop.buy(&target).await;
        // One payment is for another prompt, the other is malformed.
        let payment = shop.world.buyer.payment(&format!("{target}2")).await;
        let answer = shop.world.buyer.get_paid(&target, &payment).await;
        assert_eq!(answer.status, 402);
        shop.world.buyer.get_paid(&target, "e30=").await;
    }
    let shop = Shop::in_scenario("openai_images_moderation_blocked").await;
    let blocked = format!("/generate-meme?prompt={secret}");
    shop.refused(&blocked, 422, "unsupported").await;
    let shop = Shop::without(&["openai", "anthropic", "perplexity"]).await;
    let failing = format!("/llm-research?prompt={secret}");
    shop.refused(&failing, 503, "upstream_unavailable").await;

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("paid call"), "nothing was logged");
    assert!(log.contains("upstream failed"), "no failure was logged");
    for line in log.lines() {
        assert!(!line.contains(secret), "{line}");
    }
}
