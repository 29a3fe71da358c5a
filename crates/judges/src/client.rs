//! Clients of other projects that pay for calls. Each runs as a program of its own; this module
//! gives it an order and reads the outcome.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize, Serializer};
use tokio::process::Command;

use crate::{Account, JudgeError, Toolchain, judge};

/// A client library of another project, used as an application would use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// npm package `@x402/fetch`.
    Fetch,
    /// PyPI package `x402` over `requests`.
    Requests,
    /// PyPI package `x402` over `httpx`.
    Httpx,
    /// PyPI package `okxweb3-app-x402` over `requests`.
    OkxRequests,
    /// PyPI package `okxweb3-app-x402` over `httpx`.
    OkxHttpx,
}

impl Client {
    /// All clients.
    pub const ALL: [Self; 5] = [
        Self::Fetch,
        Self::Requests,
        Self::Httpx,
        Self::OkxRequests,
        Self::OkxHttpx,
    ];

    /// Lets the client make one call, and pay for it when asked.
    ///
    /// # Errors
    /// The client's program fails. A refusal to pay is no error but an [`OrderOutcome`].
    pub async fn pay(
        self,
        toolchain: &Toolchain,
        order: &Order,
    ) -> Result<OrderOutcome, JudgeError> {
        judge(self.command(toolchain), order).await
    }

    fn command(self, toolchain: &Toolchain) -> Command {
        let (mut command, transport) = match self {
            Self::Fetch => return toolchain.node("pay-fetch.mjs"),
            Self::Requests => (toolchain.python_x402("pay.py"), "requests"),
            Self::Httpx => (toolchain.python_x402("pay.py"), "httpx"),
            Self::OkxRequests => (toolchain.python_okx("pay.py"), "requests"),
            Self::OkxHttpx => (toolchain.python_okx("pay.py"), "httpx"),
        };
        command.arg(transport);
        command
    }
}

/// A call that a client makes and pays for.
#[derive(Debug, Clone, Serialize)]
pub struct Order {
    /// The URL.
    pub url: String,
    /// The method.
    pub method: &'static str,
    /// A JSON body.
    pub body: Option<String>,
    /// The asset to pay with. Without one, the client chooses.
    pub asset: Option<Address>,
    /// The buyer's key.
    pub private_key: &'static str,
    /// The client's spending limits.
    pub spend_controls: SpendControls,
}

impl Order {
    /// Orders a GET by [`Account::BUYER`], without a limit on its price. The client chooses the
    /// asset.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: "GET",
            body: None,
            asset: None,
            private_key: Account::BUYER.private_key,
            spend_controls: SpendControls::Off,
        }
    }

    /// Orders a POST of a JSON body, otherwise like [`Order::get`].
    #[must_use]
    pub fn post(url: impl Into<String>, body: &serde_json::Value) -> Self {
        Self {
            method: "POST",
            body: Some(body.to_string()),
            ..Self::get(url)
        }
    }

    /// Sets the asset to pay with.
    #[must_use]
    pub fn with_asset(self, asset: Address) -> Self {
        Self {
            asset: Some(asset),
            ..self
        }
    }

    /// Sets other spending limits.
    #[must_use]
    pub fn with_spend_controls(self, spend_controls: SpendControls) -> Self {
        Self {
            spend_controls,
            ..self
        }
    }
}

/// The spending limits that a client of the x402 project applies.
#[derive(Debug, Clone, Copy)]
pub enum SpendControls {
    /// The client's default: the assets that it knows, at most one dollar for each payment.
    Default,
    /// No limit.
    Off,
    /// The ordered asset, at most this many of its smallest unit for each payment.
    AtMost(U256),
}

impl Serialize for SpendControls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Default => serializer.serialize_str("default"),
            Self::Off => serializer.serialize_str("off"),
            Self::AtMost(amount) => serializer.collect_str(amount),
        }
    }
}

/// The outcome of an order.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum OrderOutcome {
    /// The service answered.
    Answered(ServiceAnswer),
    /// The client refused to continue.
    Refused {
        /// The client's message.
        error: String,
        /// How many requests the client had sent.
        requests: u32,
    },
}

/// The last answer that a client got.
#[derive(Debug, Clone, Deserialize)]
pub struct ServiceAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
    /// The payment header that the client sent, if it paid.
    pub payment_signature: Option<String>,
    /// The receipt header as the client's own library decodes it.
    pub receipt: Option<Receipt>,
    /// How many requests the client sent.
    pub requests: u32,
}

/// The header `PAYMENT-RESPONSE` as a client reads it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Whether the payment was made.
    pub success: bool,
    /// The transaction.
    pub transaction: B256,
    /// The network, `eip155:196`.
    pub network: String,
    /// The payer.
    pub payer: Address,
}
