//! Tests of the schemas of the database. Without a database the tests do nothing.

use test_support::postgres::Schema;

#[tokio::test]
async fn a_schema_belongs_to_one_test_and_is_dropped_with_its_value() {
    let (Some(one), Some(two)) = (Schema::new(), Schema::new()) else {
        return;
    };
    let (database, other) = (one.connect(), two.connect());
    for handle in [&database, &other] {
        let sql = "CREATE TABLE thing (id bigint)";
        handle.query("create", sql, &[]).await.unwrap();
    }
    drop(one);
    let sql = "SELECT id FROM thing";
    let gone = database.query("read", sql, &[]).await.unwrap_err();
    assert_eq!(gone.code(), "postgres_query");
    assert_eq!(other.query("read", sql, &[]).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_schema_is_reached_through_a_proxy() {
    let Some(schema) = Schema::new() else { return };
    let proxy = test_support::TcpProxy::before(schema.server());
    let url = schema.url_through(proxy.await.unwrap().address());
    assert!(url.ends_with(schema.url().rsplit_once('/').unwrap().1));
    let through = storage::postgres::Postgres::new(url.parse().unwrap(), Default::default());
    let sql = "SELECT current_schema()::text";
    let row = through.unwrap().query_one("read", sql, &[]).await.unwrap();
    let direct = schema.connect().query_one("read", sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, String>(0), direct.get::<_, String>(0));
}
