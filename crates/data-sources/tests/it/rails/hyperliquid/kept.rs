//! Universes are kept for a while; marks are read for every plan.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn universes_are_kept_and_marks_are_not() {
    let server = serving(|_| None).await;
    let clock = recorded_clock();
    let venue = venue(config(&server), &clock);
    for coin in ["xyz:GOLD", "xyz:GOLD", "BTC", "ETH"] {
        venue.asset(coin).await.unwrap();
    }
    let contexts = "metaAndAssetCtxs";
    assert_eq!(
        asked_for(&server).await,
        [
            "perpDexs",
            "meta xyz",
            &format!("{contexts} xyz"),
            &format!("{contexts} xyz"),
            "meta",
            contexts,
            contexts
        ]
    );
    // Unknown coins cost nothing while the universe is young.
    for _ in 0..5 {
        venue.asset("DOGE").await.unwrap_err();
        venue.asset("nope:DOGE").await.unwrap_err();
    }
    assert_eq!(request_count(&server).await, 7);
    clock.advance(Duration::from_secs(60));
    venue.asset("BTC").await.unwrap();
    assert_eq!(asked_for(&server).await[7..], ["meta", contexts]);
}

#[tokio::test]
async fn a_mark_is_read_for_every_plan() {
    let marks = std::sync::atomic::AtomicU64::new(100);
    let server = serving(move |kind| {
        (kind == "metaAndAssetCtxs").then(|| {
            let mut body = recorded("hyperliquid/meta_and_asset_ctxs.json");
            let mark = marks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            body[1][0]["markPx"] = json!(mark.to_string());
            json(&body)
        })
    })
    .await;
    let venue = venue(config(&server), &recorded_clock());
    for expected in ["100", "101", "102"] {
        assert_eq!(
            venue
                .asset("BTC")
                .await
                .unwrap()
                .mark_price
                .unwrap()
                .to_string(),
            expected
        );
    }
}

#[tokio::test]
async fn callers_that_wait_share_one_fetch() {
    let slow = Duration::from_millis(100);
    let server = serving(move |kind| {
        let file = match kind {
            "meta" => "hyperliquid/meta.json",
            _ => "hyperliquid/meta_and_asset_ctxs.json",
        };
        Some(raw(&recorded_text(file)).set_delay(slow))
    })
    .await;
    let venue = Arc::new(venue(config(&server), &recorded_clock()));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn({
                let venue = venue.clone();
                async move { venue.asset("BTC").await }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    let asked = asked_for(&server).await;
    assert_eq!(asked.iter().filter(|kind| *kind == "meta").count(), 1);
    assert_eq!(asked.len(), 9);
}
