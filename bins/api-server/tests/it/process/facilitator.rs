//! A facilitator that settles on the embedded chain. It has its own endpoint of the chain, so the
//! tripwire does not see its requests.

use alloy_primitives::U256;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use dev_chain::{DevChain, GAS_PAYER, RpcServer};
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, RequestBody, RequestId, read_body};
use hyper::{Request, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use settlement::{AnySettler, Mode, Settlement, SettlementConfig, Settler, Verification};
use x402_wire::{Asset, Network, Payment, Terms};

use crate::process::PATIENCE;
use crate::process::tripwire::Tripwire;
use crate::process::world;

pub(crate) struct Facilitator {
    pub(crate) url: String,
    _rpc: RpcServer,
}

impl Facilitator {
    pub(crate) async fn open(chain: &DevChain, wire: Arc<Tripwire>) -> Self {
        let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let config = SettlementConfig {
            mode: Mode::Onchain,
            rpc_url: Some(rpc.url().into()),
            private_key: Some(GAS_PAYER.key.to_string().into()),
            ..SettlementConfig::default()
        };
        let terms = Terms {
            network: Network::evm(196),
            pay_to: world::PAYEE,
            max_timeout_seconds: 300,
            assets: Asset::chain_196().to_vec(),
        };
        let settler = AnySettler::connect(config, &terms).await.unwrap();
        Self {
            url: world::serve(Arc::new(Desk { settler, wire })).await,
            _rpc: rpc,
        }
    }
}

struct Desk {
    settler: AnySettler,
    wire: Arc<Tripwire>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    #[serde(borrow)]
    payment_payload: &'a RawValue,
    #[serde(borrow)]
    payment_requirements: &'a RawValue,
}

impl Handler for Desk {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        let body = read_body(request.into_body(), 1 << 20, PATIENCE)
            .await
            .unwrap();
        let name = format!("facilitator{path}");
        let answer = self.wire.pass(&name, self.answer(&path, &body)).await;
        world::json(200, answer.to_string().into())
    }
}

impl Desk {
    async fn answer(&self, path: &str, body: &[u8]) -> Value {
        if path == "/supported" {
            let kind = json!({"x402Version": 2, "scheme": "exact", "network": "eip155:196"});
            return json!({"kinds": [kind], "extensions": [], "signers": {}});
        }
        let asked: Asked<'_> = serde_json::from_slice(body).unwrap();
        let payment = Payment::restore(
            asked.payment_payload.get().as_bytes(),
            asked.payment_requirements.get().as_bytes(),
        )
        .unwrap();
        if path == "/verify" {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            return match self
                .settler
                .verify(&payment, U256::ZERO, now.as_secs())
                .await
            {
                Verification::Valid => json!({"isValid": true}),
                Verification::Invalid { reason, .. } => {
                    json!({"isValid": false, "invalidReason": reason.as_str()})
                }
                other @ Verification::Unavailable { .. } => panic!("{other:?}"),
            };
        }
        assert_eq!(path, "/settle");
        let refused = |reason: &str| {
            json!({
                "success": false,
                "errorReason": reason,
                "transaction": "",
                "network": "eip155:196",
            })
        };
        if self.wire.refuses() {
            return refused("insufficient_funds");
        }
        match self.settler.settle(&payment).await {
            Settlement::Settled(receipt) => serde_json::to_value(receipt.into_response()).unwrap(),
            Settlement::Rejected { reason, .. } => refused(reason.as_str()),
            other => panic!("{other:?}"),
        }
    }
}
