//! Databases, queues, search engines and the tools that migrate them. SQL itself is read in `sql`.

use crate::core::guard::rules::{Rule, confirm, dangerous};

pub(super) const RULES: &[Rule] = &[
    dangerous("database.drop", "dropdb|dropuser|droplang", "drops a database or a user"),
    dangerous("database.drop", "mysqladmin ** drop|shutdown|kill|flush-privileges", "drops or stops a database"),
    confirm("database.restore", "pg_restore --clean|-c", "drops what is there before it restores"),
    confirm("database.restore", "mongorestore --drop", "drops what is there before it restores"),
    confirm(
        "database.restore",
        "pg_resetwal|pg_resetxlog|initdb|pg_dropcluster|pg_rewind",
        "may lose what is in a database",
    ),
    confirm("database.restore", "pg_ctl|pg_ctlcluster ** stop|kill|restart", "stops a database"),
    confirm(
        "database.restore",
        "neo4j-admin|cypher-shell|arangorestore|influxd|nodetool|cockroach|tiup|tarantoolctl ** --force|--overwrite-destination|drop|removenode|decommission|clearsnapshot|destroy|drain|wipe",
        "may lose what is in a database",
    ),
    dangerous(
        "redis.flush",
        "redis-cli|valkey-cli|keydb-cli ** flushall|flushdb|FLUSHALL|FLUSHDB|FlushAll|FlushDB",
        "empties a store",
    ),
    confirm(
        "redis.delete",
        "redis-cli|valkey-cli|keydb-cli ** del|unlink|DEL|UNLINK|shutdown|SHUTDOWN|RENAME|rename|swapdb|SWAPDB|debug|DEBUG|replicaof|slaveof|REPLICAOF|SLAVEOF|ltrim|LTRIM|xtrim|XTRIM|HDEL|hdel|expire|EXPIRE",
        "deletes keys or stops a store",
    ),
    confirm(
        "redis.delete",
        "redis-cli|valkey-cli ** script|function|config|cluster|acl|CONFIG|CLUSTER|ACL|SCRIPT|FUNCTION flush|kill|set|reset|deluser|resetstat|FLUSH|SET|RESET|DELUSER",
        "changes a store",
    ),
    confirm("cache.flush", "memcflush|memcrm|varnishadm", "empties a cache"),
    confirm("etcd.delete", "etcdctl del|rm|compact|defrag|auth", "deletes or changes what a cluster stands on"),
    confirm(
        "etcd.delete",
        "etcdctl member|user|role remove|delete|revoke|revoke-role|revoke-permission|update",
        "changes what a cluster stands on",
    ),
    confirm(
        "kafka.delete",
        "kafka-topics|kafka-topics.sh|kafka-consumer-groups|kafka-consumer-groups.sh|kafka-acls|kafka-acls.sh --delete|--reset-offsets|--remove",
        "deletes topics or positions",
    ),
    confirm(
        "kafka.delete",
        "kafka-delete-records|kafka-delete-records.sh|kafka-streams-application-reset|kafka-streams-application-reset.sh|kafka-storage.sh",
        "deletes records",
    ),
    confirm(
        "kafka.delete",
        "kafka-configs|kafka-configs.sh|kafka-reassign-partitions|kafka-reassign-partitions.sh --delete-config|--execute",
        "changes what is kept",
    ),
    confirm(
        "kafka.delete",
        "kcat|rpk|kafkactl|zkcli|zkcli.sh|zookeeper-shell|zookeeper-shell.sh ** delete|deleteall|rmr|trim-prefix",
        "deletes what is stored",
    ),
    dangerous("queue.reset", "rabbitmqctl|rabbitmqadmin reset|force_reset", "deletes everything of a broker"),
    confirm(
        "queue.delete",
        "rabbitmqctl|rabbitmqadmin|rabbitmq-plugins purge_queue|delete_queue|delete_vhost|delete_user|stop|stop_app|shutdown|clear_permissions|close_all_connections|purge|delete|disable|forget_cluster_node|clear_policy",
        "deletes queues or stops a broker",
    ),
    confirm("queue.delete", "nats stream|consumer|kv|object|account rm|purge|del|delete|rmm|edit", "deletes streams"),
    confirm("queue.delete", "celery ** purge|shutdown", "deletes waiting jobs"),
    confirm(
        "migrate.reset",
        "rails|rake|bin/rails|bundle db:drop|db:reset|db:rollback|db:schema:load|db:setup|db:truncate_all|db:purge|db:migrate:reset|db:drop:all|db:structure:load|db:seed:replant|db:migrate:down",
        "drops or rolls back a database",
    ),
    confirm("migrate.reset", "prisma migrate reset|resolve", "drops and makes a database anew"),
    confirm("migrate.reset", "prisma db push --accept-data-loss|--force-reset", "drops data of a database"),
    confirm(
        "migrate.reset",
        "sequelize|sequelize-cli|typeorm|mikro-orm|drizzle-kit db:drop|db:migrate:undo|db:migrate:undo:all|schema:drop|migration:revert|migration:fresh|drop|schema:fresh|cache:clear",
        "drops or rolls back a database",
    ),
    confirm("migrate.reset", "knex migrate:rollback|migrate:down|migrate:unlock", "rolls back a database"),
    confirm("migrate.reset", "supabase db reset", "drops and makes a database anew"),
    confirm("migrate.reset", "supabase ** delete|pause", "deletes a part of a project"),
    confirm("migrate.reset", "hasura migrate|metadata delete|clear|reset", "deletes what is known of a database"),
    confirm("migrate.reset", "alembic|flask downgrade|db", "rolls back a database"),
    confirm(
        "migrate.reset",
        "flyway|liquibase clean|undo|drop-all|dropAll|rollback|rollback-count",
        "drops or rolls back a database",
    ),
    confirm(
        "migrate.reset",
        "goose|dbmate|migrate|diesel|sqlx|atlas|sqitch|ecto|refinery|tern down|drop|reset|rollback|redo|revert|force|clean|down-to",
        "drops or rolls back a database",
    ),
    confirm(
        "migrate.reset",
        "goose|dbmate|migrate|diesel|sqlx|sqitch ** down|drop|reset|rollback|redo|revert",
        "drops or rolls back a database",
    ),
    confirm("migrate.reset", "mix ecto.drop|ecto.reset|ecto.rollback", "drops or rolls back a database"),
    confirm(
        "migrate.reset",
        "artisan migrate:fresh|migrate:reset|migrate:rollback|migrate:refresh|db:wipe|queue:flush|queue:clear",
        "drops or rolls back a database",
    ),
    confirm(
        "migrate.reset",
        "manage.py|django-admin flush|reset_db|sqlflush|drop_test_database|clear_cache|delete_stale_contenttypes",
        "empties a database",
    ),
    confirm("migrate.reset", "dotnet ef database|migrations drop|remove", "drops or rolls back a database"),
    confirm("migrate.reset", "doctrine ** drop", "drops a database"),
    confirm(
        "search.delete",
        "curator|elasticsearch-plugin|elasticdump|opensearch-cli ** delete|delete_indices|remove|delete_snapshots",
        "deletes an index",
    ),
    confirm("metrics.delete", "influx bucket|delete|org|user|auth|task delete|--bucket|-b", "deletes measurements"),
    confirm("metrics.delete", "influx delete", "deletes measurements"),
    confirm("metrics.delete", "promtool tsdb|debug delete|clean-tombstones", "deletes measurements"),
    confirm(
        "feature.flag",
        "ldcli|unleash|flipt|split|growthbook ** delete|archive|toggle-off",
        "switches a feature off for everybody",
    ),
    confirm("mail", "postsuper -d", "deletes waiting mail"),
    confirm("mail", "exim|exim4|mailq ** -mrm|-mg", "deletes waiting mail"),
    confirm("dns", "nsupdate|rndc ** delete|flush|stop|halt|delzone", "changes names for everybody"),
    confirm(
        "web.request",
        "curl --request=DELETE|-X=DELETE|--request=delete|-X=delete|--request=PURGE|-X=PURGE",
        "asks a server to delete something",
    ),
    confirm("web.request", "wget --method=DELETE", "asks a server to delete something"),
    confirm("web.request", "http|https|xh|httpie|curlie DELETE|delete|PURGE", "asks a server to delete something"),
];
