-- What the library must hold, worked out without Tern: from the catalogue, and from the edits that
-- the devices acknowledged. Temporary tables `csv` and `done` are imported; `final` is one device.

-- The first wins, as it does in an import.
CREATE TEMP TABLE origin AS
SELECT CASE WHEN isbn <> '' THEN isbn ELSE 'book:' || book_id END AS key,
  min(rowid) AS line, title, authors, nullif(isbn13, '') AS isbn13,
  CAST(CAST(nullif(original_publication_year, '') AS REAL) AS INTEGER) AS year,
  nullif(language_code, '') AS language,
  CAST(nullif(average_rating, '') AS REAL) AS averageRating, nullif(image_url, '') AS imageURL
FROM csv GROUP BY 1;

-- Rounds 1 to 3 were one after the other, so their last edit wins; round 4 was on both at once, so
-- either device's last one may. An insert carries every column.
CREATE TEMP TABLE written AS
SELECT n, round, device, key, 'title' AS name, value FROM done WHERE verb IN ('retitle', 'add')
UNION ALL SELECT n, round, device, key, 'rating', value FROM done WHERE verb = 'rate'
UNION ALL SELECT n, round, device, key, 'rating', NULL FROM done WHERE verb = 'add'
UNION ALL SELECT n, round, device, key, 'shelf', value FROM done WHERE verb = 'shelve'
UNION ALL SELECT n, round, device, key, 'shelf', NULL FROM done WHERE verb = 'add';
-- Books that are gone only where they were made, in one round: what comes and goes between two seals
-- is in no operation, so that they may stay where another device made them, too.
CREATE TEMP TABLE passing AS
SELECT key FROM done AS gone WHERE verb = 'delete' AND key IN (
  SELECT key FROM done WHERE verb = 'add' GROUP BY key HAVING count(DISTINCT device) > 1)
GROUP BY key HAVING min(EXISTS (
  SELECT 1 FROM done WHERE done.key = gone.key AND done.verb = 'add' AND done.n < gone.n
    AND done.round = gone.round AND done.device = gone.device));
CREATE TEMP TABLE allowed AS
WITH last AS (
  SELECT max(n) AS n, key, name, round = 4 AS isLive FROM written
  GROUP BY key, name, round = 4, CASE WHEN round = 4 THEN device END
)
SELECT key, name, written.value FROM last JOIN written USING (n, key, name)
WHERE key NOT IN (SELECT key FROM passing) AND (isLive OR NOT EXISTS (
  SELECT 1 FROM last AS live WHERE live.isLive AND live.key = last.key AND live.name = last.name
));
CREATE INDEX temp.byKey ON allowed (key, name);

CREATE TEMP TABLE expected AS
WITH keys AS (SELECT key FROM origin UNION SELECT key FROM done WHERE verb = 'add')
SELECT key,
  coalesce(sum(CASE verb WHEN 'count' THEN CAST(value AS INTEGER) WHEN 'add' THEN 1 END), 0)
    AS scans,
  coalesce(max(CASE verb WHEN 'confidence' THEN CAST(value AS REAL) END), 0.0) AS confidence
FROM keys LEFT JOIN done USING (key)
WHERE key NOT IN (SELECT key FROM done WHERE verb = 'delete')
GROUP BY key;
CREATE UNIQUE INDEX temp.expectedKey ON expected (key);
