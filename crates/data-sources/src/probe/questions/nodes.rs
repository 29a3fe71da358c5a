//! Nodes: each endpoint of each chain is asked separately. Transactions are not asked for, because
//! no transaction is kept by every node of a chain.

use serde_json::{Value, json};

use crate::{
    Source,
    error::{Error, SourceError, SourceErrorKind},
    evm::EvmReader,
    probe::{Probed, Question},
    provenance::Sourced,
    rpc::{
        RpcReader,
        endpoint::{Endpoint, NodeError, RpcReply, nothing},
    },
};

/// A contract at the same address on every chain.
const MULTICALL: &str = "0xca11bde05977b3631167028862be2a173976ca11";

/// A question to a node.
struct Call {
    source: &'static str,
    sources: &'static [&'static str],
    method: &'static str,
    params: Value,
}

impl Probed for EvmReader {
    fn source(&self) -> Option<&Source> {
        None
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let calls = || {
            [
                Call {
                    source: "rpc.gas-price",
                    sources: &["rpc.chain-id", "rpc.gas-price"],
                    method: "eth_gasPrice",
                    params: json!([]),
                },
                Call {
                    source: "rpc.call",
                    sources: &["rpc.call"],
                    method: "eth_getBalance",
                    params: json!([MULTICALL, "latest"]),
                },
            ]
        };
        let of = |endpoint| calls().map(|call| question(endpoint, call));
        self.endpoints().flat_map(of).collect()
    }
}

impl Probed for RpcReader {
    fn source(&self) -> Option<&Source> {
        None
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let calls = || {
            [
                Call {
                    source: "rpc.code",
                    sources: &["rpc.chain-id", "rpc.code"],
                    method: "eth_getCode",
                    params: json!([MULTICALL, "latest"]),
                },
                Call {
                    source: "rpc.call",
                    sources: &["rpc.call"],
                    method: "eth_call",
                    params: json!([{"to": MULTICALL, "data": "0x"}, "latest"]),
                },
                Call {
                    source: "rpc.simulate",
                    sources: &["rpc.simulate"],
                    method: "eth_simulateV1",
                    params: json!([{"blockStateCalls": [{"calls": []}]}, "latest"]),
                },
            ]
        };
        let of = |endpoint| calls().map(|call| question(endpoint, call));
        self.all_endpoints().flat_map(of).collect()
    }
}

/// A call to one endpoint. The result's text is the reading; its meaning is not judged.
fn question(endpoint: &Endpoint, call: Call) -> Question<'_> {
    let Call {
        source,
        sources,
        method,
        params,
    } = call;
    let asked = async move {
        let told = endpoint.ask(source, method, &params, |result| {
            let result = result.ok_or_else(nothing)?;
            match method {
                "eth_gasPrice" | "eth_getBalance" => result.quantity().map(|n| n.to_string()),
                "eth_simulateV1" => result.elements().map(|blocks| blocks.len().to_string()),
                _ => result.bytes().map(|bytes| bytes.to_string()),
            }
        });
        read(source, method, told.await)
    };
    Question::new(endpoint.name(), sources, asked)
}

fn read(
    source: &'static str,
    method: &str,
    told: Result<Sourced<RpcReply<String>>, NodeError>,
) -> Result<Sourced<String>, Error> {
    let refused = |message: String| SourceError {
        source,
        kind: SourceErrorKind::Business {
            code: "node".to_owned(),
            message,
        },
    };
    match told {
        Ok(told) => match told.value {
            RpcReply::Value(value) => Ok(Sourced {
                value,
                sources: told.sources,
            }),
            // The empty call may revert: even then the node ran it.
            RpcReply::Reverted(_) => Ok(Sourced {
                value: "reverted".to_owned(),
                sources: told.sources,
            }),
            RpcReply::NoMethod => Err(refused(format!("the node does not offer {method}")).into()),
        },
        Err(NodeError::Source(error)) => Err(error.into()),
        Err(NodeError::Refused(message) | NodeError::Unsuitable(message)) => {
            Err(refused(message).into())
        }
    }
}
