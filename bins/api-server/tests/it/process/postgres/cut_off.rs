//! Tests of a server that cannot reach the database while another one can.

use test_support::TcpProxy;

use super::{both_answer, sells_again, start, world};
use crate::process::crash::{Book, present};
use crate::process::world::World;

/// Everything between one server and the database is held back for longer than the server's lease.
/// The other server takes its payments over. The statements that were held back then arrive late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_arrive_after_the_lease_write_nothing() {
    let Some((database, mut world)) = world(World::behind_a_facilitator().await).await else {
        return;
    };
    let a = start(&world).await;
    let way_of_b = TcpProxy::before(database.schema.server()).await.unwrap();
    world.database = Some(database.schema.url_through(way_of_b.address()));
    let b = start(&world).await;
    let mut book = Book::default();
    for is_at_work in [true, false] {
        let payments = book.sign(&world, &b, 4).await;
        if is_at_work {
            world.upstream.close();
        }
        let cut_off = async {
            if is_at_work {
                world.upstream.holds(1).await;
            }
            database.proxy.hold(true);
            world.upstream.open();
            book.settle_up(&world, &b).await;
            database.proxy.hold(false);
        };
        let (late, ()) = tokio::join!(present(&world, &a, &payments), cut_off);
        assert_eq!(late.len(), payments.len());
        for (_, answer) in &late {
            let expected = [200, 402, 409, 503];
            assert!(expected.contains(&answer.status), "{}", answer.text);
        }
        book.keep(&world, late);
        both_answer(&world, [&a, &b], &mut book).await;
    }
    sells_again(&world, [&a, &b], &mut book).await;
}
