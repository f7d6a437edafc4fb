<?php
/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// page.php: what apache's workers run for every request: ?n=K chooses the data. The answer depends on nothing else.

$n = (int)($_GET["n"] ?? 0);
mt_srand($n);
header("Content-Type: text/plain; charset=utf-8");

$rows = [];
for ($i = 0; $i < 400 + $n % 50; $i++) {
    $rows[] = ["id" => $i, "text" => str_repeat("wörter ", mt_rand(1, 40)), "number" => mt_rand() / 3];
}
$json = json_encode($rows);
echo "json ", md5($json), " ", count(json_decode($json, true)), "\n";
echo "mb ", md5(mb_strtoupper(implode(array_column($rows, "text")))), "\n";

$document = new DOMDocument();
$root = $document->appendChild($document->createElement("rows"));
foreach ($rows as $row) {
    $root->appendChild($document->createElement("row", trim($row["text"])));
}
echo "xml ", md5($document->saveXML()), "\n";

$db = new PDO("sqlite::memory:");
$db->exec("CREATE TABLE t (id INTEGER, body TEXT)");
$insert = $db->prepare("INSERT INTO t VALUES (?, ?)");
foreach ($rows as $row) {
    $insert->execute([$row["id"], $row["text"]]);
}
echo "pdo ", json_encode($db->query("SELECT count(*), sum(length(body)) FROM t")->fetch(PDO::FETCH_NUM)), "\n";

session_start();
$_SESSION["seen"] = ($_SESSION["seen"] ?? 0) + 1;
echo "session ", $_SESSION["seen"], "\n";
echo str_repeat(".", $n * 100), "\n";
