//! What `/freshness` says before anything is paid.

use route_catalog::{Dataset, Operation};
use serde_json::Value;

use crate::shop::Shop;

#[tokio::test]
async fn every_route_that_reads_a_dataset_stands_beside_it() {
    let shop = Shop::open().await;
    let body = shop.world.buyer.get("/freshness").await.body();
    let routes = |dataset: &str| -> Vec<String> {
        let datasets = body["datasets"].as_array().unwrap();
        let of = datasets.iter().find(|of| of["dataset"] == dataset).unwrap();
        let text = |route: &Value| route.as_str().unwrap().to_owned();
        of["routes"].as_array().unwrap().iter().map(text).collect()
    };
    let news = routes("news");
    for route in ["/crypto-news", "/rwa-pulse", "/token-alpha", "/mega-report"] {
        assert!(news.iter().any(|known| known == route), "{route}: {news:?}");
    }
    assert!(routes("yield-pools").contains(&"/mega-report".to_owned()));
    // Each as the catalog declares it, and no other.
    for dataset in Dataset::ALL {
        let declared: Vec<_> = Operation::ALL
            .iter()
            .map(|operation| operation.route())
            .filter(|route| route.datasets.contains(&dataset))
            .map(|route| route.path.to_owned())
            .collect();
        assert_eq!(routes(dataset.name()), declared);
    }
}
